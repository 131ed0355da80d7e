"""An HTTP client behind the guard: whatever it is asked for, and wherever it is sent on to, the guard decides first.

The guard stands where connections are made, below redirects and retries, so nothing can go around it. The name of the
host stays in the request and in the TLS handshake; only the connection goes to the address that was judged.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpcore
import httpx

from drumline.outbound.guard import AddressGuard
from drumline.outbound.no_cookies import no_cookies

CONNECT_SECONDS: Final = 10.0
"""For all addresses of a host together."""
KEPT_SECONDS: Final = 30.0
"""How long an idle connection is kept."""


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Makes connections to addresses that the guard has judged, and to no others."""

    def __init__(self, guard: AddressGuard, inner: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        self._inner = inner or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore calls it so
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of a host that answers."""
        try:
            addresses = await self._guard.addresses(host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
        seconds = (CONNECT_SECONDS if timeout is None else timeout) / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(addresses[-1], port, seconds, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class GuardedTransport(httpx.AsyncBaseTransport):
    """httpx over connections of a `GuardedNetwork`."""

    def __init__(self, network: httpcore.AsyncNetworkBackend) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            keepalive_expiry=KEPT_SECONDS,
            network_backend=network,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Make one request; a redirect comes here again."""
        url = request.url
        with _translated():
            reply = await self._pool.handle_async_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(
            status_code=reply.status, headers=reply.headers, stream=_Body(reply), extensions=reply.extensions
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(self, reply: httpcore.Response) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in self._reply.aiter_stream():
                yield part

    async def aclose(self) -> None:
        with _translated():
            await self._reply.aclose()


@contextmanager
def _translated() -> Iterator[None]:
    """Raise httpcore's errors as those of httpx, which have the same names."""
    try:
        yield
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
        kind: type[httpx.TransportError] = getattr(httpx, type(error).__name__, httpx.TransportError)
        raise kind(str(error)) from error
    except httpcore.UnsupportedProtocol as error:
        raise httpx.UnsupportedProtocol(str(error)) from error


def guarded_client(guard: AddressGuard) -> httpx.AsyncClient:
    """Return a client behind a guard: no proxies, no cookies, no redirects unless asked for, time limits of its user.

    Making one reads certificates from the disk: do it in a thread.
    """
    # The caller puts the whole exchange under a deadline.
    transport = GuardedTransport(GuardedNetwork(guard))
    return httpx.AsyncClient(transport=transport, cookies=no_cookies(), trust_env=False, timeout=None)  # noqa: S113
