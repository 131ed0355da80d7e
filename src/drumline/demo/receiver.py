"""Somebody who is told: a small receiver of webhooks, one of whose addresses is out of order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ANSWER_SECONDS = 5.0
_OK = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
_BROKEN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 15\r\nConnection: close\r\n\r\nout for lunch.\n"


@asynccontextmanager
async def receiving() -> AsyncIterator[str]:
    """Receive webhooks on this machine while inside; gives the address."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield f"http://127.0.0.1:{port}"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_BROKEN if b" /broken" in head.partition(b"\r\n")[0] else _OK)
            await writer.drain()
    except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return  # whoever called has gone, or never meant it
    finally:
        writer.close()
