"""A receiver of webhooks that answers as it is told to, and remembers what it was sent."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from standardwebhooks import Webhook

HANG = 0
"""Instead of a status: say nothing until the caller has gone."""


@dataclass
class Received:
    headers: dict[str, str]
    body: bytes

    def verified(self, secret: str) -> Any:
        """Return what was sent, if the public library finds its signature right."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass
class Receiver:
    """Answers with one status after the other; with the last one from then on."""

    answers: list[int] = field(default_factory=lambda: [200])
    headers: str = ""
    url: str = ""
    received: list[Received] = field(default_factory=list)
    accepted: list[Received] = field(default_factory=list)
    busy: int = 0
    busiest: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the caller has gone
        finally:
            self.busy -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        pairs = [line.split(": ", 1) for line in head.split("\r\n")[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        received = Received(headers, await reader.readexactly(int(headers["content-length"])))
        self.received.append(received)
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if status == HANG:
            await reader.read()
            return
        if status < 300:
            self.accepted.append(received)
        body = f"you got {status}"
        writer.write(
            f"HTTP/1.1 {status} Word\r\n{self.headers}content-length: {len(body)}\r\n"
            f"connection: close\r\n\r\n{body}".encode()
        )
        await writer.drain()


@asynccontextmanager
async def receiving(answers: Sequence[int] = (200,), headers: str = "") -> AsyncIterator[Receiver]:
    receiver = Receiver(list(answers), headers)
    async with await asyncio.start_server(receiver.serve, "127.0.0.1", 0) as server:
        receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hooks"
        yield receiver
