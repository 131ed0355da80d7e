"""One HTTP connection that is kept, as bare as can be, for load that is awaited request by request."""

import asyncio
from typing import Any, cast

import msgspec


class Refused(Exception):
    """The server answered with an error."""


class Wire(asyncio.Protocol):
    """One connection that is kept; a request at a time."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n"
        self._transport: asyncio.Transport | None = None
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = b""

    async def ask(self, method: str, path: str, said: Any = None) -> Any:
        """Send a request and return its answer; a wire that breaks raises."""
        async with self._turn:
            loop = asyncio.get_running_loop()
            if self._transport is None:
                await loop.create_connection(lambda: self, "127.0.0.1", self._port)
            body = b"" if said is None else msgspec.json.encode(said)
            head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
            self._answer = loop.create_future()
            if self._transport is None:
                raise ConnectionResetError
            self._transport.write(head.encode() + body)
            status, content = await self._answer
        if status >= 300:
            raise Refused(f"{status} {content[:200]!r}")
        return msgspec.json.decode(content) if content else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name

    def data_received(self, data: bytes) -> None:
        """Give the answer to who asked, when it is complete."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._received[:end].lower()
        at = head.find(b"content-length:")
        length = 0 if at < 0 else int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self._received) < end + 4 + length:
            return
        content, self._received = self._received[end + 4 : end + 4 + length], b""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((int(head[9:12]), content))

    def connection_lost(self, error: Exception | None) -> None:
        """Fail what waits for an answer."""
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("hung up"))

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()
