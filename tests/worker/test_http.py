"""HTTP requests against a small server of our own."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import pytest

from drumline.core.state import State
from drumline.lifecycle.worker_setup import built_in_kinds
from drumline.outbound.guard import AddressGuard, parse_allowed
from drumline.settings import Settings
from drumline.worker.executors.catalogue import BuiltIn
from tests.worker.house import House, result_of

HTTP = BuiltIn(http=True, pdf=False)

ANSWERS = {
    "/ok": b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nset-cookie: a=b\r\ncontent-length: 5\r\n\r\nhello",
    "/json": b'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"id": 7}',
    "/missing": b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\ngone",
    "/broken": b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n",
    "/busy": b"HTTP/1.1 429 Slow\r\nretry-after: 17\r\ncontent-length: 0\r\n\r\n",
    "/moved": b"HTTP/1.1 302 Found\r\nlocation: /ok\r\ncontent-length: 0\r\n\r\n",
    "/long": b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 1_000_000,
    "/cut": b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort",
}


@dataclass
class Server:
    """A server that answers by path and remembers what it was asked."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"ength:" in line), 0)
            self.requests.append(head + await reader.readexactly(length))
            path = head.split(b" ")[1].decode()
            if path == "/hang":
                await reader.read()
            else:
                writer.write(ANSWERS[path])
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        server.url = f"http://{host}:{port}"
        yield server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


async def test_a_request_gives_status_headers_and_body(house: House, server: Server) -> None:
    async with house.worker(HTTP):
        view = await house.run("http", {"url": f"{server.url}/ok", "headers": {"x-colour": "red"}})

    assert result_of(view) == {
        "status": 200,
        "headers": {"content-type": "text/plain", "content-length": "5"},
        "body": "hello",
        "is_cut": False,
    }
    assert b"x-colour: red" in server.requests[0].lower()


async def test_json_is_sent_as_json_and_read_as_json(house: House, server: Server) -> None:
    payload = {"url": f"{server.url}/json", "method": "POST", "json": {"b": [1, None]}}
    async with house.worker(HTTP):
        view = await house.run("http", payload)

    assert result_of(view)["body"] == {"id": 7}
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert body == b'{"b":[1,null]}'
    assert b"content-type: application/json" in head.lower()


async def test_a_text_is_sent_as_it_is(house: House, server: Server) -> None:
    async with house.worker(HTTP):
        await house.run("http", {"url": f"{server.url}/ok", "method": "PUT", "body": "hé"})

    assert server.requests[0].endswith("hé".encode())


@pytest.mark.parametrize("path", ["/missing", "/moved"])
async def test_a_request_that_cannot_succeed_fails_for_good(house: House, server: Server, path: str) -> None:
    async with house.worker(HTTP):
        view = await house.run("http", {"url": server.url + path})

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.kind == ("HTTP 404" if path == "/missing" else "HTTP 302")


async def test_redirects_are_followed_when_asked(house: House, server: Server) -> None:
    async with house.worker(HTTP):
        view = await house.run("http", {"url": f"{server.url}/moved", "follow_redirects": True})

    assert result_of(view)["body"] == "hello"


async def test_a_status_that_was_expected_is_success(house: House, server: Server) -> None:
    async with house.worker(HTTP):
        expected = await house.run("http", {"url": f"{server.url}/missing", "expect": [404]})
        unexpected = await house.run("http", {"url": f"{server.url}/ok", "expect": [404]})

    assert result_of(expected)["status"] == 404
    assert unexpected.state is State.FAILED


@pytest.mark.parametrize(
    ("path", "kind", "within", "wait"),
    [
        ("/broken", "HTTP 500", 30.0, 2000),
        ("/busy", "HTTP 429", 30.0, 17_000),
        ("/hang", "timeout", 0.2, 2000),
        ("/cut", "RemoteProtocolError", 30.0, 2000),
    ],
)
async def test_what_may_pass_is_retried(
    house: House, server: Server, path: str, kind: str, within: float, wait: int
) -> None:
    async with house.worker(HTTP):
        view = await house.try_once("http", {"url": server.url + path, "timeout": within})

    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == kind
    assert view.due_at == house.clock.now() + wait


async def test_a_server_that_is_not_there_is_retried(house: House) -> None:
    async with serving() as server:
        url = server.url

    async with house.worker(HTTP):
        view = await house.try_once("http", {"url": url})

    assert view.state is State.QUEUED


async def test_a_long_body_is_cut(house: House, server: Server) -> None:
    async with house.worker(HTTP):
        result = result_of(await house.run("http", {"url": f"{server.url}/long"}))

    assert result["is_cut"]
    assert len(result["body"]) == 64 * 1024


async def test_proxies_of_the_environment_are_not_used(
    house: House, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async with house.worker(HTTP):
        view = await house.run("http", {"url": f"{server.url}/ok"})

    assert result_of(view)["status"] == 200


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({}, "payload.url"),
        ({"url": "ftp://127.0.0.1/"}, "payload.url"),
        ({"url": "http://"}, "payload.url"),
        ({"url": "http://127.0.0.1:99999/"}, "payload.url"),
        ({"url": "http://127.0.0.1:port/"}, "payload.url"),
        ({"url": "http://127.0.0.1", "method": "BREW"}, "payload.method"),
        ({"url": "http://127.0.0.1", "body": "a", "json": 1}, "payload.body"),
        ({"url": "http://127.0.0.1", "timeout": 0}, "payload.timeout"),
    ],
)
async def test_a_payload_that_makes_no_sense_fails_for_good_naming_the_field(
    house: House, payload: Any, field: str
) -> None:
    async with house.worker(HTTP):
        view = await house.run("http", payload)

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.message.startswith(field)


async def test_a_request_is_stopped_by_the_tasks_timeout(house: House, server: Server) -> None:
    async with house.worker(HTTP):
        view = await house.try_once("http", {"url": f"{server.url}/hang"}, timeout=0.1)

    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"


GUARDED = BuiltIn(http=True, pdf=False, guard=AddressGuard(setting="allow_http"))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "2130706433", "0x7f.1", "user@127.0.0.1"])
async def test_a_guarded_worker_does_not_call_its_own_machine(house: House, server: Server, host: str) -> None:
    url = server.url.replace("127.0.0.1", host)

    async with house.worker(GUARDED):
        view = await house.run("http", {"url": f"{url}/ok"})

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.message.startswith("payload.url: ")
    assert server.requests == []


async def test_a_guarded_worker_is_not_sent_inside_by_a_redirect(house: House, server: Server) -> None:
    ANSWERS["/inside"] = b"HTTP/1.1 302 Found\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\n\r\n"
    guarded = BuiltIn(http=True, pdf=False, guard=AddressGuard(parse_allowed(["127.0.0.1"], field="allow_http")))

    async with house.worker(guarded):
        allowed = await house.run("http", {"url": f"{server.url}/ok"})
        view = await house.run("http", {"url": f"{server.url}/inside", "follow_redirects": True})

    assert result_of(allowed)["body"] == "hello"
    assert view.state is State.FAILED
    assert view.error is not None
    assert "10.0.0.1 is a private address" in view.error.message


@pytest.mark.parametrize(
    ("allow_http", "is_embedded", "is_guarded"),
    [(None, True, False), (None, False, True), ((), True, True), (("10.0.0.0/8",), True, True)],
)
def test_workers_are_guarded_unless_they_serve_one_machine(
    allow_http: tuple[str, ...] | None, is_embedded: bool, is_guarded: bool
) -> None:
    kinds = built_in_kinds(Settings(allow_http=allow_http), is_embedded=is_embedded)

    assert (kinds.guard is not None) is is_guarded


async def test_headers_meant_for_one_server_are_not_told_to_another(house: House, server: Server) -> None:
    async with serving() as other:
        ANSWERS["/away"] = f"HTTP/1.1 302 Found\r\nlocation: {other.url}/ok\r\ncontent-length: 0\r\n\r\n".encode()
        headers = {"X-API-Key": "hunter2", "Authorization": "Bearer hunter2", "Accept": "text/plain"}
        async with house.worker(HTTP):
            same = await house.run("http", {"url": f"{server.url}/moved", "follow_redirects": True, "headers": headers})
            away = await house.run("http", {"url": f"{server.url}/away", "follow_redirects": True, "headers": headers})

    assert result_of(same)["body"] == result_of(away)["body"] == "hello"
    assert [request.count(b"hunter2") for request in server.requests] == [2, 2, 2]
    assert [request.count(b"hunter2") for request in other.requests] == [0]
    assert b"text/plain" in other.requests[0]


async def test_no_cookie_passes_from_one_request_to_another(house: House, server: Server) -> None:
    ANSWERS["/there"] = b"HTTP/1.1 302 Found\r\nlocation: /ok\r\nset-cookie: c=d\r\ncontent-length: 0\r\n\r\n"

    for kinds in (
        HTTP,
        BuiltIn(http=True, pdf=False, guard=AddressGuard(parse_allowed(["127.0.0.1"], field="allow_http"))),
    ):
        async with house.worker(kinds):
            await house.run("http", {"url": f"{server.url}/ok"})
            await house.run("http", {"url": f"{server.url}/there", "follow_redirects": True})
            await house.run("http", {"url": f"{server.url}/ok"})

    assert len(server.requests) == 8
    assert not any(b"cookie" in request.lower() for request in server.requests)


async def test_a_cookie_that_a_task_sets_itself_is_sent_with_its_own_request_only(house: House, server: Server) -> None:
    async with house.worker(HTTP):
        await house.run("http", {"url": f"{server.url}/ok", "headers": {"Cookie": "mine=1"}})
        await house.run("http", {"url": f"{server.url}/ok"})

    assert [b"mine=1" in request for request in server.requests] == [True, False]


@pytest.mark.parametrize(
    ("scheme", "is_closed"), [("Bearer", False), ("Basic", False), ("NTLM", True), ("Negotiate", True), ("Hmac", True)]
)
async def test_a_connection_that_a_request_signs_in_is_not_used_again(
    house: House, server: Server, scheme: str, is_closed: bool
) -> None:
    async with house.worker(HTTP):
        await house.run("http", {"url": f"{server.url}/ok", "headers": {"Authorization": f"{scheme} TlRMTVNTUAAD"}})

    assert (b"connection: close" in server.requests[0].lower()) is is_closed


async def test_a_circle_of_redirects_ends(house: House, server: Server) -> None:
    ANSWERS["/circle"] = b"HTTP/1.1 302 Found\r\nlocation: /circle\r\ncontent-length: 0\r\n\r\n"

    async with house.worker(HTTP):
        view = await house.run("http", {"url": f"{server.url}/circle", "follow_redirects": True})

    assert view.error is not None
    assert view.error.message == "payload.url: was sent on more than 20 times"


BOMB = gzip.compress(gzip.compress(bytes(50_000_000)))
HOSTILE = {
    "/layers": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip, gzip\r\ncontent-length: %d\r\n\r\n%b" % (len(BOMB), BOMB),
    "/bomb": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + gzip.compress(bytes(50_000_000)),
    "/empty-blocks": b"HTTP/1.1 200 OK\r\ncontent-encoding: deflate\r\n\r\n" + b"\x00\x00\x00\xff\xff" * 400_000,
    "/punycode": b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=punycode\r\n\r\n" + b"a-" * 40_000,
}
ANSWERS.update(HOSTILE)


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("/layers", State.FAILED),
        ("/bomb", State.COMPLETED),
        ("/empty-blocks", State.COMPLETED),
        ("/punycode", State.COMPLETED),
    ],
)
async def test_no_answer_fills_memory_or_holds_the_loop(house: House, server: Server, path: str, state: State) -> None:
    began = process_time()
    tracemalloc.start()

    async with house.worker(HTTP):
        view = await house.run("http", {"url": f"{server.url}{path}"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert view.state is state
    assert peak < 20_000_000
    assert process_time() - began < 5
    assert b"accept-encoding: gzip, deflate\r\n" in server.requests[0].lower()
