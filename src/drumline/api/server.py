"""Serves the API on a socket, until told to stop."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from time import monotonic
from typing import Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from drumline.api.accepting import Acceptor, allow_files, most_connections
from drumline.api.addresses import Addresses
from drumline.api.collector import PacedCollector
from drumline.api.connections import Connections, Peer
from drumline.api.http_protocol import LimitedHttpProtocol
from drumline.api.refusals import Refusals
from drumline.core.clock import SystemClock
from drumline.core.limits import DEFAULT_HTTP_LIMITS, HttpLimits
from drumline.core.metrics import Metrics

GRACE: Final = 5
"""Seconds that requests under way get to finish when the server stops."""
BACKLOG: Final = 2048
CHECK_EVERY: Final = 0.5
"""Seconds between two checks of the time limits of connections."""
CHECKED_AT_ONCE: Final = 500
MOST_CHECKED: Final = 5_000
"""Connections checked in a second at most: of more, each is checked less often."""


class Listener(NamedTuple):
    """How connections are accepted: their limits, where they are counted, and which addresses are proxies."""

    limits: HttpLimits
    metrics: Metrics
    addresses: Addresses


class _Uvicorn(uvicorn.Server):
    """Installs no signal handlers (the process does), and accepts connections within limits."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self._connections = connections
        self._acceptors: list[Acceptor] = []
        self._checking: asyncio.Task[None] | None = None
        self._collecting: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await self.lifespan.startup()
        self.servers = []  # what the event loop would accept with
        self._acceptors = [Acceptor(listening, self._connections, self._protocol) for listening in sockets or ()]
        self._checking = asyncio.create_task(self._check(), name="api: time limits of connections")
        self._collecting = asyncio.create_task(PacedCollector(self._connections).run(), name="api: garbage collector")
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, and finish what is under way."""
        for acceptor in self._acceptors:
            acceptor.close()
            await acceptor.wait_closed()
        try:
            await super().shutdown(sockets)
        finally:
            if self._checking is not None:
                self._checking.cancel()
            if self._collecting is not None:
                self._collecting.cancel()

    def _protocol(self, peer: Peer) -> asyncio.Protocol:
        return LimitedHttpProtocol(
            self.config, self.server_state, self.lifespan.state, registry=self._connections, peer=peer
        )

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(max(CHECK_EVERY, len(self._connections) / MOST_CHECKED))
            now = monotonic()
            for number, connection in enumerate(tuple(self._connections), 1):
                connection.check(now)
                if number % CHECKED_AT_ONCE == 0:  # thousands of them would keep requests waiting
                    await asyncio.sleep(0)


class Server:
    """An HTTP server for one application.

    The socket is bound by the constructor, so that the address is known, and taken, before anything runs.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        listener: Listener | None = None,
    ) -> None:
        listener = listener or Listener(DEFAULT_HTTP_LIMITS, Metrics(), Addresses(()))
        limits = listener.limits
        self._socket = _bound(host, port)
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=max(1, round(limits.keep_alive)),
            timeout_graceful_shutdown=GRACE,
        )
        # A start URL carries a key in its query; uvicorn would log it to any handler that is attached.
        logging.getLogger("uvicorn.access").disabled = True
        connections = Connections(
            limits,
            most=most_connections(limits.connections, allow_files()),
            addresses=listener.addresses,
            refusals=Refusals(listener.metrics, SystemClock()),
            metrics=listener.metrics,
        )
        self._server = _Uvicorn(config, connections)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Give the address up again, if the server never ran."""
        self._socket.close()

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set; then finish what is under way."""
        stopping = asyncio.create_task(self._end_with(stop), name="api: stop")
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            stopping.cancel()
            self._socket.close()

    async def _end_with(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._server.should_exit = True


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        listening.set_inheritable(False)
    except OSError:
        listening.close()
        raise
    return listening
