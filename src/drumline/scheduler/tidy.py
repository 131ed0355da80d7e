"""Tidy: let the room of what is over be used again soon, where much passes through a small table.

Tasks that have not ended are few at any moment, but thousands a second come and leave, and each leaves dead rows. The
server's own vacuum comes by once a minute at best: until then the table grows to what passed through it in a minute,
which pushes out of memory what is worked on.
"""

import asyncio
from typing import Final

from drumline.ports.store import Housekeeping

DEAD: Final = 200_000
"""Dead rows that are left to the store itself: below that, little is gained."""
STATEMENT_SECONDS: Final = 60.0


class Tidier:
    """Keeps what is worked on together."""

    name = "tidy"

    def __init__(self, store: Housekeeping, *, every: float = 10.0, dead: int = DEAD) -> None:
        self.every = every
        self._store = store
        self._dead = dead

    async def pass_once(self) -> bool:
        """Make room, if there is enough to be made; tell whether."""
        async with asyncio.timeout(STATEMENT_SECONDS):
            return await self._store.tidy(dead=self._dead)
