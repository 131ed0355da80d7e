"""An HTTP client that is made when it is first needed: many processes never need one."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


class LateClient:
    """Keeps one client, and with it its connections."""

    def __init__(self, make: "Callable[[], httpx.AsyncClient]") -> None:
        self._make = make
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> "httpx.AsyncClient":
        """Return the client; httpx is imported by then."""
        async with self._opening:
            if self._client is None:
                # In a thread: importing the library and reading certificates takes the loop's time otherwise.
                self._client = await asyncio.to_thread(self._make)
            return self._client

    async def close(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
