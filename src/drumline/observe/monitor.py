"""A small HTTP listener for monitoring: metrics and health, at a port of its own.

Schedulers, workers and notifiers have none of the API's packages, and need of HTTP only this much: GET, a few fixed
paths, one answer per connection. It runs in the same event loop as everything else: if that is
blocked, no request is answered, as it should be.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Final

import structlog

from drumline.core.liveness import Liveness
from drumline.observe.exposition import Exposition

REQUEST_SECONDS: Final = 5.0
MOST_LINES: Final = 100
MOST_AT_ONCE: Final = 64

log: structlog.stdlib.BoundLogger = structlog.get_logger()

Answer = tuple[int, str, bytes]
"""Status, media type and body."""


class Monitor:
    """Serves `/metrics`, `/livez` and `/readyz`."""

    def __init__(
        self, exposition: Exposition, liveness: Liveness, *, is_ready: Callable[[], bool] = lambda: True
    ) -> None:
        self._exposition = exposition
        self._liveness = liveness
        self._is_ready = is_ready
        self._at_once = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and hang up."""
        self._at_once += 1
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                if self._at_once <= MOST_AT_ONCE:
                    await self._talk(reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:  # TimeoutError is an OSError
            log.debug("monitor.broken_off", error=repr(error))
        finally:
            self._at_once -= 1
            writer.close()

    def answer(self, method: str, target: str, accept: str) -> Answer:
        """Return what is to be said to a request."""
        if method not in {"GET", "HEAD"}:
            return _said(405, "only GET is served here")
        match target.partition("?")[0]:
            case "/metrics":
                body, media = self._exposition.write(accept)
                return 200, media, body
            case "/livez":
                stuck = self._liveness.stuck()
                return _told(200, {"status": "UP"}) if not stuck else _told(503, {"status": "DOWN", "stuck": stuck})
            case "/readyz":
                return _told(200, {"status": "UP"}) if self._is_ready() else _told(503, {"status": "DOWN"})
            case _:
                return _said(404, "there are /metrics, /livez and /readyz")

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, *_ = (*(await _line(reader)).split(" "), "", "")
        accept = ""
        for _ in range(MOST_LINES):
            line = await _line(reader)
            if not line:
                break
            name, _, value = line.partition(":")
            if name.lower() == "accept":
                accept = value.strip()
        status, media, body = self.answer(method, target, accept)
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {media}\r\ncontent-length: {len(body)}\r\n"
            "cache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + (b"" if method == "HEAD" else body))
        await writer.drain()


_REASONS: Final = {
    200: "OK",
    404: "Not Found",
    405: "Method Not Allowed",
    503: "Service Unavailable",
}


async def _line(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\n")).decode("latin-1").rstrip("\r\n")


def _told(status: int, body: dict[str, object]) -> Answer:
    return status, "application/json", json.dumps(body).encode()


def _said(status: int, text: str) -> Answer:
    return status, "text/plain; charset=utf-8", f"{text}\n".encode()
