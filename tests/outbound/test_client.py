"""The client behind the guard: what is connected to, what is asked for, and what no redirect can change."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpcore
import httpx
import pytest

from drumline.outbound.client import GuardedNetwork, GuardedTransport, guarded_client
from drumline.outbound.guard import AddressGuard, AddressRefused, parse_allowed
from tests.outbound.test_guard import PUBLIC, Resolver

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


class Stream(httpcore.AsyncMockStream):
    """A connection that notes which name it was secured for."""

    def __init__(self, network: "Network") -> None:
        super().__init__([OK])
        self._network = network

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109, ARG002
    ) -> httpcore.AsyncNetworkStream:
        assert ssl_context.verify_mode is ssl.CERT_REQUIRED
        self._network.secured.append(server_hostname)
        return self

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109, ARG002
        self._network.written += buffer


class Network(httpcore.AsyncNetworkBackend):
    """A network that answers everywhere but at addresses that are down, and notes who was called."""

    def __init__(self, *down: str) -> None:
        self.down = down
        self.called: list[tuple[str, int]] = []
        self.secured: list[str | None] = []
        self.written = b""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109, ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        self.called.append((host, port))
        if host in self.down:
            raise httpcore.ConnectError("refused")
        return Stream(self)


def client(network: Network, resolver: Resolver, *allow: str) -> httpx.AsyncClient:
    guard = AddressGuard(parse_allowed(allow, field="allow"), resolve=resolver)
    return httpx.AsyncClient(transport=GuardedTransport(GuardedNetwork(guard, network)))


@asynccontextmanager
async def redirecting(location: str) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        there = b"GET /there " in head
        writer.write(
            OK if there else f"HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_the_connection_goes_to_the_judged_address_and_the_name_stays() -> None:
    network, resolver = Network(), Resolver(**{"hooks.example": [[PUBLIC], ["127.0.0.1"]]})

    async with client(network, resolver) as http:
        reply = await http.get("https://hooks.example/7?x=1")

    assert (reply.status_code, reply.text) == (200, "hi")
    assert network.called == [(PUBLIC, 443)]
    assert network.secured == ["hooks.example"]
    assert b"GET /7?x=1 HTTP/1.1\r\nHost: hooks.example\r\n" in network.written
    assert resolver.asked == ["hooks.example"], "asked again, another answer could come"


async def test_the_next_address_is_tried_when_one_is_down() -> None:
    network, resolver = Network(PUBLIC), Resolver(**{"two.example": [[PUBLIC, "93.184.215.15"]]})

    async with client(network, resolver) as http:
        assert (await http.get("http://two.example/")).status_code == 200

    assert network.called == [(PUBLIC, 80), ("93.184.215.15", 80)]


async def test_a_host_that_is_down_everywhere_is_an_error_of_httpx() -> None:
    async with client(Network(PUBLIC), Resolver()) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get("http://down.example/")


async def test_a_name_that_nobody_knows_is_an_error_of_httpx() -> None:
    async with client(Network(), Resolver(**{"gone.example": [[]]})) as http:
        with pytest.raises(httpx.ConnectError, match=r"gone\.example cannot be resolved"):
            await http.get("http://gone.example/")


async def test_nothing_is_connected_to_before_it_is_judged() -> None:
    network = Network()

    async with client(network, Resolver(**{"both.example": [[PUBLIC, "10.0.0.1"]]})) as http:
        for url in ("http://127.0.0.1/", "http://[::1]/", "http://2130706433/", "http://both.example/"):
            with pytest.raises(AddressRefused):
                await http.get(url)

    assert network.called == []


@pytest.mark.parametrize("location", ["http://10.0.0.1/", "http://127.0.0.2/", "//169.254.169.254/", "http://0x7f.2/"])
async def test_a_redirect_inside_is_refused_even_where_redirects_are_followed(location: str) -> None:
    async with (
        redirecting(location) as url,
        guarded_client(AddressGuard(parse_allowed(["127.0.0.1"], field="a"))) as http,
    ):
        assert (await http.get(url)).status_code == 302
        with pytest.raises(AddressRefused):
            await http.get(url, follow_redirects=True)


async def test_a_redirect_to_what_is_allowed_is_followed_when_asked() -> None:
    async with (
        redirecting("/there") as url,
        guarded_client(AddressGuard(parse_allowed(["127.0.0.1"], field="a"))) as http,
    ):
        assert (await http.get(url, follow_redirects=True)).text == "hi"


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with (
        redirecting("/there") as url,
        guarded_client(AddressGuard(parse_allowed(["127.0.0.1"], field="a"))) as http,
    ):
        assert (await http.get(f"{url}/there")).text == "hi"
