"""What is not quite HTTP: every answer to it is a refusal with security headers, and the server goes on."""

import socket
from pathlib import Path

from tests.black_box.server import Server

HOST = b" HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /api/v1/tasks" + HOST
REQUESTS = (
    b"GARBAGE\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\x00" + HOST + b"\r\n",
    b"GET /\xff\xfe" + HOST + b"\r\n",
    b"GET /%zz%" + HOST + b"\r\n",
    b"GET http://[::1" + HOST + b"\r\n",
    b"GET *" + HOST + b"\r\n",
    b"CONNECT a:1" + HOST + b"\r\n",
    b"BREW /" + HOST + b"\r\n",
    b"GET /ui/assets/" + b"x" * 300 + HOST + b"\r\n",
    b"GET /" + b"x" * 100_000 + HOST + b"\r\n",
    b"GET /" + HOST + b"Bad Header: y\r\n\r\n",
    b"GET /" + HOST + b"X: a\x00b\r\n\r\n",
    b"GET /api/v1/me" + HOST + b"X-API-Key: \xff\xfe\r\n\r\n",
    POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    POST + b"Content-Length: -5\r\n\r\n",
    POST + b"Content-Length: " + b"9" * 400 + b"\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /api/v1/me" + HOST + b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1",
)


def head_of(server: Server, request: bytes) -> bytes:
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer and (part := line.recv(65536)):
            answer += part
    return answer.partition(b"\r\n\r\n")[0].lower()


def test_what_is_not_quite_http_is_refused_with_security_headers(tmp_path: Path) -> None:
    with Server(tmp_path / "data", app=None) as server:
        heads = {request[:60]: head_of(server, request) for request in REQUESTS}
        assert server.ask("GET", "/api/v1/me")[0] == 200

    for request, head in heads.items():
        assert head.startswith((b"http/1.1 4", b"http/1.1 3")), (request, head[:100])
        for name in (b"content-security-policy", b"x-content-type-options", b"x-frame-options", b"referrer-policy"):
            assert name in head, request
