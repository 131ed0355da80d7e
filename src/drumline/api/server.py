"""Serves the API on a socket, until told to stop."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

GRACE = 5
"""Seconds that requests under way get to finish when the server stops."""
BACKLOG = 2048


class _Uvicorn(uvicorn.Server):
    """Leaves signals to whoever runs the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server:
    """An HTTP server for one application.

    The socket is bound by the constructor, so that the address is known, and taken, before anything runs.
    """

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1", port: int = 8080) -> None:
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
            timeout_keep_alive=75,
            timeout_graceful_shutdown=GRACE,
            backlog=BACKLOG,
        )
        # A start URL carries a key in its query; uvicorn would write it down for whoever attaches a handler.
        logging.getLogger("uvicorn.access").disabled = True
        self._server = _Uvicorn(config)

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
