"""Opens the listening socket of a server."""

import asyncio
import errno
from contextlib import suppress

from starlette.types import ASGIApp

from drumline.api.server import Listener, Server
from drumline.core.errors import DrumlineError, Invalid
from drumline.lifecycle.addresses import near

LOOK_EVERY = 0.01


class PortInUse(DrumlineError):
    """Another program listens there already."""

    code = "port_in_use"


def open_server(app: ASGIApp, host: str, port: int, listener: Listener) -> Server:
    """Return a server that is bound to its port, or raise why it cannot be."""
    try:
        return Server(app, host=host, port=port, listener=listener)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            other = f"--port {port + 1 if port < 65_535 else 0}"
            raise PortInUse(
                f"port {port} of {host} is taken by another program\n"
                f'Take another one with {other} (make run ARGS="{other}"), or any free one with --port 0.'
            ) from error
        if error.errno == errno.EACCES:
            raise Invalid(f"port {port} needs more rights than you have: take one above 1023", field="port") from error
        raise Invalid(f"cannot listen on {host}: {error.strerror or error}", field="host") from error


async def listening(host: str, port: int) -> None:
    """Return once a server accepts connections at an address of this machine."""
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(near(host), port)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            return
        await asyncio.sleep(LOOK_EVERY)
