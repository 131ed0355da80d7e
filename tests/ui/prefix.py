"""A reverse proxy that serves a server under a path, and forgets to say so, as most do."""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit


class Prefix:
    """Takes a path off the front of requests, and passes them on."""

    def __init__(self, url: str, path: str) -> None:
        self._target = urlsplit(url)
        self._path = path.encode()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.strays: list[str] = []
        """What was asked for outside of the path."""

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening, and drop what is open."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._pass_on(reader, writer)
        finally:
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on one request; each gets a connection of its own, so that only its first line has to be read."""
        head = await reader.readuntil(b"\r\n\r\n")
        (
            method,
            target,
            _,
        ) = (head.split(b"\r\n", 1)[0] + b"   ").split(b" ")[:3]
        if not target.startswith(self._path):
            self.strays.append(target.decode())
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        lines = [line for line in head.split(b"\r\n")[1:-2] if not line.lower().startswith(b"connection:")]
        start = method + b" " + (target.removeprefix(self._path) or b"/") + b" HTTP/1.1"
        there, back = await asyncio.open_connection(self._target.hostname, self._target.port)
        try:
            back.write(b"\r\n".join([start, *lines, b"Connection: close"]) + b"\r\n\r\n")
            back.write(await reader.readexactly(_length_of(lines)))
            while piece := await there.read(65_536):
                writer.write(piece)
                await writer.drain()
        finally:
            back.close()


def _length_of(lines: list[bytes]) -> int:
    return next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
