"""A TCP proxy that can stall, delay and reset what passes through it."""

import asyncio
import socket
import struct
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit


class Proxy:
    """Forwards to one address. Faults hold for all connections, those that are open and those to come."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._asking = asyncio.Event()
        self._answering = asyncio.Event()
        self._asking.set()
        self._answering.set()
        self._latency = 0.0
        self._last_question: bytes | None = None
        self._refusing = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None:
            raise RuntimeError("the proxy has not been started")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def url(self, url: str) -> str:
        """Return an address of the same server that leads through the proxy."""
        parts = urlsplit(url)
        user = f"{parts.username}@" if parts.username else ""
        return urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{self.port}"))

    def stall(self) -> None:
        """Let nothing pass, with the connections open: what a cut cable or a frozen host looks like."""
        self._asking.clear()
        self._answering.clear()

    def hold_answers(self) -> None:
        """Let questions pass but no answers."""
        self._answering.clear()

    def hold_answer_to(self, question: bytes) -> None:
        """Hold answers from the next question on that has these bytes in it, such as a COMMIT."""
        self._last_question = question

    def delay(self, seconds: float) -> None:
        """Hold every piece back for so long, each way."""
        self._latency = seconds

    def refuse(self) -> None:
        """Reset every new connection at once."""
        self._refusing = True

    def reset(self) -> None:
        """Reset the connections that are open."""
        for writer in list(self._writers):
            _reset(writer)

    def heal(self) -> None:
        """Let everything pass again."""
        self._latency = 0.0
        self._refusing = False
        self._asking.set()
        self._answering.set()

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.reset()

    def _is_open(self) -> bool:
        return not self._refusing

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._is_open():
            _reset(writer)
            return
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        self._writers |= {back, writer}
        if not self._is_open():  # refused since it came, when `reset` did not know of it yet
            self.reset()
            return
        for source, sink, flowing in ((reader, back, self._asking), (there, writer, self._answering)):
            task = asyncio.create_task(self._pump(source, sink, flowing), name="proxy pump")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flowing: asyncio.Event) -> None:
        try:
            while piece := await reader.read(65_536):
                if self._latency:
                    await asyncio.sleep(self._latency)
                await flowing.wait()
                if flowing is self._asking and self._last_question is not None and self._last_question in piece:
                    self._last_question = None
                    self.hold_answers()
                writer.write(piece)
                await writer.drain()
        except OSError:
            _reset(writer)
        finally:
            self._writers.discard(writer)
            with suppress(OSError):
                writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() != -1:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
