"""The short cuts of the HTTP server do what the long way does, on real sockets."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from drumline.aio.events import StopEvent
from drumline.api.server import Server
from drumline.core.ids import parse_session_id
from drumline.core.protocol import nonce_of
from drumline.engine.engine import Engine
from tests.api.conftest import KEY

PATIENCE = 40.0
CLAIM = "8f14e45fceea167a"


@pytest.fixture
async def port(app: Any, stop: StopEvent) -> AsyncIterator[int]:
    server = Server(app, port=0)
    running = asyncio.create_task(server.run(stop))
    yield server.port
    stop.set()
    await running


class Client:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, port: int) -> "Client":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def send(self, method: str, path: str, body: Any = None, *, headers: str = "", cut: int | None = None) -> bytes:
        """Send a request, or what is before its last `cut` bytes; return the rest."""
        content = b"" if body is None else json.dumps(body).encode()
        headers += f"Host: x\r\nX-API-Key: {KEY}\r\nContent-Length: {len(content)}\r\n"
        request = f"{method} {path} HTTP/1.1\r\n{headers}\r\n".encode() + content
        at = len(request) if cut is None else len(request) - cut
        self._writer.write(request[:at])
        return request[at:]

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def answer(self) -> tuple[str, dict[str, str], Any]:
        """Return the first line, the headers and the content of the next answer."""
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            content = await self._reader.readexactly(int(headers.get("content-length", 0)))
        return first, headers, json.loads(content) if content else None

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


@pytest.fixture
async def client(port: int) -> AsyncIterator[Client]:
    client = await Client.connect(port)
    yield client
    await client.close()


async def session(client: Client) -> str:
    client.send("POST", "/api/v1/worker/sessions", {"types": [{"name": "work"}], "capacity": 1})
    return f"/api/v1/worker/sessions/{(await client.answer())[2]['session']}"


async def test_an_answer_that_is_written_at_once_has_the_headers_of_one_that_is_not(client: Client) -> None:
    client.send("POST", "/api/v1/tasks", {"name": "work"})
    first, at_once, _ = await client.answer()
    client.send("POST", "/api/v1/tasks", {"name": "work"}, headers="Connection: close\r\n")
    second, long_way, _ = await client.answer()

    assert first == second == "HTTP/1.1 201 Created"
    assert long_way.pop("connection") == "close"
    assert at_once.keys() == long_way.keys()
    differing = {name for name, value in at_once.items() if long_way[name] != value}
    assert differing <= {"date", "x-request-id", "location"}


async def test_a_small_task_is_answered_at_once_with_the_headers_of_one_that_is_not(client: Client) -> None:
    client.send("POST", "/api/v1/tasks", {"name": "work"})
    path = f"/api/v1/tasks/{(await client.answer())[2]['id']}"

    client.send("GET", path, headers="Accept-Encoding: gzip\r\n")
    at_once = await client.answer()
    client.send("GET", path, headers="Accept-Encoding: gzip\r\nConnection: close\r\n")
    in_steps = await client.answer()

    assert at_once[2]["id"] == in_steps[2]["id"]
    assert "content-encoding" not in at_once[1]
    assert in_steps[1].pop("connection") == "close"
    assert at_once[1].keys() == in_steps[1].keys()
    differing = {name for name, value in at_once[1].items() if in_steps[1][name] != value}
    assert differing <= {"date", "x-request-id"}


async def test_a_body_that_comes_in_pieces_is_read_as_one(client: Client) -> None:
    rest = client.send("POST", "/api/v1/tasks", {"name": "work", "payload": {"a": 1}}, cut=9)
    await asyncio.sleep(0.05)
    client.write(rest)

    first, _, content = await client.answer()

    assert first == "HTTP/1.1 201 Created"
    assert content["id"]


async def test_answers_to_requests_sent_ahead_come_in_their_order(client: Client) -> None:
    client.send("POST", "/api/v1/tasks", {"name": "work"})
    client.send("GET", "/livez")
    client.send("GET", "/nothing")

    assert [(await client.answer())[0].split()[1] for _ in range(3)] == ["201", "200", "404"]


async def test_a_long_poll_ends_with_its_client_also_if_that_has_sent_more_ahead(port: int, engine: Engine) -> None:
    client = await Client.connect(port)
    path = await session(client)
    waiting = parse_session_id(path.rpartition("/")[2]), nonce_of(CLAIM, field="claim_id")
    client.send("POST", f"{path}/claim", {"wait": 60, "claim_id": CLAIM})
    client.send("POST", f"{path}/beat", {})
    await until(lambda: engine.claims.is_asleep(*waiting))

    await client.close()

    await until(lambda: not engine.claims.is_asleep(*waiting))


async def until(is_so: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - another connection tells nothing of it
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("path", ["/api/v1/tasks//log", "/api/v1/tasks/", "/api/v1/worker/sessions/x/y/z", "//"])
async def test_a_path_with_an_empty_or_unknown_part_is_no_path(client: Client, path: str) -> None:
    client.send("GET", path)

    first, _, content = await client.answer()

    assert first == "HTTP/1.1 404 Not Found"
    assert content["code"] == "unknown_path"
