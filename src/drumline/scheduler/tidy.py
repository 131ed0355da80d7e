"""Tidy: let the room of what is over be used again soon, where much passes through a small table.

Tasks that have not ended are few at any moment, but thousands a second come and leave, and each leaves dead rows. The
server's own vacuum comes by once a minute at best: until then the table grows to what passed through it in a minute,
which pushes out of memory what is worked on.

While an old transaction keeps the dead rows, looking for room is in vain, and costs as much: so a twentieth of the
time goes into it at most.
"""

import asyncio
from typing import Final

from drumline.core.clock import Clock
from drumline.ports.store import Housekeeping

DEAD: Final = 200_000
"""Dead rows that are left to the store itself: below that, little is gained."""
SHARE: Final = 20
"""How many times longer than it took the next one is put off."""
STATEMENT_SECONDS: Final = 60.0


class Tidier:
    """Keeps what is worked on together."""

    name = "tidy"

    def __init__(self, store: Housekeeping, *, clock: Clock, every: float = 10.0, dead: int = DEAD) -> None:
        self.every = every
        self._usually_every = every
        self._store = store
        self._clock = clock
        self._dead = dead

    async def pass_once(self) -> bool:
        """Make room, if there is enough to be made; tell whether."""
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(STATEMENT_SECONDS):
                return await self._store.tidy(dead=self._dead)
        finally:  # what failed may have taken longest
            self.every = max(self._usually_every, (self._clock.monotonic() - began) * SHARE)
