"""What one client may take of the server's connections, bytes and time, on real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest

from drumline.api.accepting import RESERVED_FILES, allow_files, most_connections
from drumline.api.addresses import Addresses
from drumline.api.connections import Connections
from drumline.api.refusals import Refusals
from drumline.api.server import Listener, Server
from drumline.core.clock import SystemClock
from drumline.core.limits import HttpLimits
from drumline.core.metrics import Metrics
from tests.api.conftest import KEY, submitted

PATIENCE = 40.0


class Served:
    """A server with limits, and what it counts."""

    def __init__(self, port: int, metrics: Metrics) -> None:
        self.port = port
        self.metrics = metrics
        self._writers: list[asyncio.StreamWriter] = []

    def refused(self, reason: str) -> float:
        return self.metrics.http_refused.values.get((reason,), 0)

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writers.append(writer)
        return reader, writer

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def say(self, *pieces: bytes) -> bytes:
        """Send some bytes, and return all that comes back until the server closes."""
        reader, writer = await self.open()
        with suppress(OSError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        return await ended(reader)

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", headers={"X-API-Key": KEY}, timeout=PATIENCE)


Serve = Callable[..., Any]


@pytest.fixture
def serve(app: Any, stop: asyncio.Event) -> Serve:
    @asynccontextmanager
    async def serving(proxies: tuple[str, ...] = (), **limits: Any) -> AsyncIterator[Served]:
        metrics = Metrics()
        server = Server(app, port=0, listener=Listener(HttpLimits(**limits), metrics, Addresses(proxies)))
        running = asyncio.create_task(server.run(stop))
        try:
            served = Served(server.port, metrics)
            yield served
        finally:
            await served.close()
            stop.set()
            await running

    return serving


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the server closes the connection, in order or not."""
    heard = b""
    async with asyncio.timeout(PATIENCE):
        with suppress(OSError):
            while piece := await reader.read(65_536):
                heard += piece
    return heard


def told(answer: bytes) -> tuple[int, str]:
    """Return status and code of an answer to a request that was refused."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"x-content-type-options: nosniff" in head
    assert b"connection: close" in head
    return int(head.split(b" ")[1]), json.loads(body)["code"]


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_true():  # noqa: ASYNC110 - the server does not tell this process
            await asyncio.sleep(0.01)


async def test_headers_without_end_are_refused(serve: Serve) -> None:
    async with serve() as served:
        one = await served.say(b"GET /livez HTTP/1.1\r\nhost: x\r\nlong: ", b"a" * 40_000)
        many = await served.say(b"GET /livez HTTP/1.1\r\n", b"a: b\r\n" * 10_000)
        complete = await served.say(b"GET /livez HTTP/1.1\r\nlong: " + b"a" * 40_000 + b"\r\n\r\n")
        too_many = await served.say(b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n")

        assert [told(answer) for answer in (one, many, complete, too_many)] == [(431, "headers_too_large")] * 4
        assert served.refused("headers_too_large") == 4


async def test_a_url_without_end_is_refused(serve: Serve) -> None:
    async with serve() as served:
        endless = await served.say(b"GET /", b"a" * 20_000)
        complete = await served.say(b"GET /livez?" + b"a" * 17_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n")

        assert [told(endless), told(complete)] == [(414, "url_too_long")] * 2


async def test_headers_up_to_the_limit_are_served(serve: Serve) -> None:
    async with serve() as served, served.client() as client:
        reply = await client.get("/livez?a=" + "x" * 15_000, headers={"long": "a" * 15_000})

        assert reply.status_code in {200, 422}


async def test_a_megabyte_sent_on_after_a_refusal_is_thrown_away(serve: Serve) -> None:
    async with serve() as served:
        answer = await served.say(b"GET / HTTP/1.1\r\n", b"a: " + b"x" * 1_000_000)

        assert told(answer) == (431, "headers_too_large")


async def test_a_client_that_says_nothing_is_hung_up_on(serve: Serve) -> None:
    async with serve(header_timeout=0.2) as served:
        assert await served.say() == b""
        assert told(await served.say(b"GET / HTTP/1.1\r\nhos")) == (408, "too_slow")
        assert served.refused("slow_headers") == 2


async def test_headers_that_trickle_in_are_refused_in_time(serve: Serve) -> None:
    async with serve(header_timeout=0.3) as served:
        reader, writer = await served.open()
        writer.write(b"GET / HTTP/1.1\r\n")
        answer = b""
        async with asyncio.timeout(PATIENCE):
            while not answer:
                writer.write(b"a: b\r\n")
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.02):
                        answer = await reader.read(65_536)

        assert told(answer) == (408, "too_slow")


async def test_a_second_request_has_its_own_time(serve: Serve) -> None:
    async with serve(header_timeout=0.3) as served:
        answer = await served.say(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n", b"GET /livez HT")

        assert answer.startswith(b"HTTP/1.1 200")
        assert served.refused("slow_headers") == 1


async def test_a_body_that_never_ends_ends_with_its_connection(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumline.api.http_protocol.LINGER_SECONDS", 0.1)
    async with serve(body_timeout=0.1) as served:
        reader, writer = await served.open()
        key = KEY.encode()
        writer.write(b"POST /api/v1/tasks HTTP/1.1\r\nx-api-key: %b\r\ncontent-length: 1000\r\n\r\n{" % key)
        await ended(reader)

        assert served.refused("slow_body") == 1


async def test_an_answered_request_whose_body_never_ends_is_ended(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.api.http_protocol.LINGER_SECONDS", 0.1)
    async with serve(body_timeout=0.2) as served:
        reader, writer = await served.open()
        writer.write(b"GET /livez HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n1")

        assert (await ended(reader)).startswith(b"HTTP/1.1 200")
        assert served.refused("slow_body") == 1


async def test_an_idle_connection_is_closed(serve: Serve) -> None:
    async with serve(keep_alive=1) as served:
        answer = await served.say(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "endless", [b"0\r\n" + b"a: b\r\n" * 100_000, b"0\r\nlong: " + b"a" * 600_000, b"1;" + b"a" * 600_000]
)
async def test_trailers_and_chunk_extensions_without_end_are_refused(serve: Serve, endless: bytes) -> None:
    head = b"POST /api/v1/tasks HTTP/1.1\r\nx-api-key: %b\r\ntransfer-encoding: chunked\r\n\r\n" % KEY.encode()
    async with serve() as served:
        await served.say(head, endless)

        assert served.refused("overhead") + served.refused("not_http") == 1


async def test_requests_sent_ahead_by_the_thousand_are_not_kept(serve: Serve) -> None:
    async with serve() as served:
        await served.say(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)

        assert served.refused("pipeline") == 1


async def test_a_few_requests_sent_ahead_are_answered_in_order(serve: Serve) -> None:
    async with serve() as served:
        request = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"
        last = b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        answer = await served.say(request * 5 + last)

        assert answer.count(b"HTTP/1.1 200") == 6


@pytest.mark.parametrize("method", [b"GET", b"CONNECT"])
async def test_a_request_for_another_protocol_is_answered_once_and_ended(serve: Serve, method: bytes) -> None:
    async with serve() as served:
        head = b"%b /livez HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n" % method
        answer = await served.say(head, b"\x81\x05hello" * 100)

        assert answer.count(b"HTTP/1.1") == 1


async def test_what_is_not_http_gets_a_problem(serve: Serve) -> None:
    async with serve() as served:
        assert told(await served.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")) == (400, "malformed")
        assert served.refused("not_http") == 1


async def test_silent_connections_give_way_to_new_ones(serve: Serve) -> None:
    async with serve(connections=20, connections_per_address=10) as served:
        for _ in range(50):
            await served.open()

        async with served.client() as client:
            for _ in range(20):
                assert (await client.get("/livez")).status_code == 200

        assert served.refused("evicted") >= 40


async def test_when_all_connections_are_served_a_new_one_is_told_to_come_again(serve: Serve) -> None:
    async with serve(connections_per_address=2) as served:
        async with served.client() as client:
            task = await submitted(client, delay=3600)
        request = f"GET /api/v1/tasks/{task}?wait=30 HTTP/1.1\r\nhost: x\r\nx-api-key: {KEY}\r\n\r\n".encode()
        polls = [await served.open() for _ in range(2)]
        for _, writer in polls:
            writer.write(request)
        answer = b""
        async with asyncio.timeout(PATIENCE):
            while b" 503 " not in answer:  # until then one of them was not being served yet, and gave way
                answer = await served.say(b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")

        assert told(answer) == (503, "overloaded")
        assert b"retry-after: 5" in answer
        assert served.refused("connections_per_address") == 1


async def test_a_trusted_proxy_has_no_limit_per_address(serve: Serve) -> None:
    async with serve(("127.0.0.0/8",), connections=100, connections_per_address=2) as served:
        for _ in range(20):
            await served.open()
        async with served.client() as client:
            assert (await client.get("/livez")).status_code == 200

        assert served.refused("evicted") == 0


async def test_a_client_that_does_not_read_is_hung_up_on(serve: Serve) -> None:
    async with serve(write_timeout=0.2) as served:
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(raw, ("127.0.0.1", served.port))
            request = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n"
            with suppress(OSError):
                for _ in range(16):
                    await loop.sock_sendall(raw, request)

            await until(lambda: served.refused("slow_reader") > 0)


def test_connections_leave_files_for_the_rest() -> None:
    assert most_connections(4096, 1024) == 1024 - RESERVED_FILES
    assert most_connections(4096, 65_536) == 4096
    assert most_connections(4096, 64) == 32
    assert allow_files() >= 1024


class Fake:
    """A connection that notes whether it was closed."""

    def __init__(self) -> None:
        self.is_evicted = False

    def evict(self) -> None:
        self.is_evicted = True

    def check(self, now: float) -> None:
        assert now >= 0


def registry(*, most: int, per_address: int) -> Connections:
    metrics = Metrics()
    return Connections(
        HttpLimits(connections_per_address=per_address),
        most=most,
        addresses=Addresses(()),
        refusals=Refusals(metrics, SystemClock()),
        metrics=metrics,
    )


def opened(connections: Connections, address: str) -> Fake | None:
    peer = connections.admit(address)
    if peer is None:
        return None
    fake = Fake()
    connections.opened(fake, peer)
    return fake


def test_those_that_never_asked_give_way_before_those_that_are_idle() -> None:
    connections = registry(most=10, per_address=3)
    idle, busy, fresh = (opened(connections, "192.0.2.1") for _ in range(3))
    assert idle is not None
    assert busy is not None
    assert fresh is not None
    connections.busy(idle)
    connections.idle(idle)
    connections.busy(busy)

    first, second, third = (opened(connections, "192.0.2.1") for _ in range(3))

    assert (fresh.is_evicted, idle.is_evicted, busy.is_evicted) == (True, False, False)
    assert [fake is not None and fake.is_evicted for fake in (first, second, third)] == [True, True, False]
    assert len(connections) == 3


def test_another_address_gives_way_when_all_places_are_taken() -> None:
    connections = registry(most=4, per_address=4)
    many = [opened(connections, "192.0.2.1") for _ in range(4)]

    one = opened(connections, "198.51.100.7")

    assert one is not None
    assert [fake is not None and fake.is_evicted for fake in many] == [True, False, False, False]


def test_addresses_of_one_network_count_together_in_ipv6() -> None:
    connections = registry(most=10, per_address=2)
    fakes = [opened(connections, f"2001:db8::{number}") for number in range(1, 4)]

    assert [fake is not None and fake.is_evicted for fake in fakes] == [True, False, False]


def test_nothing_is_kept_of_addresses_that_have_gone() -> None:
    connections = registry(most=10, per_address=2)
    fake = opened(connections, "192.0.2.1")
    assert fake is not None

    connections.closed(fake)
    connections.closed(fake)

    assert len(connections) == 0
    assert not list(connections)
    assert not connections._peers
