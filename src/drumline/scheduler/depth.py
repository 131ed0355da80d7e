"""Sample depth: note now and then how many tasks wait, for the charts.

Counting all that wait looks at each of them, so one scheduler does it for all, three times a minute, and the longer it
takes the less often: a twentieth of the time goes into it at most. While no scheduler runs there are no samples, and
the charts show a gap.
"""

import asyncio
from typing import Final

from drumline.core.clock import Clock
from drumline.ports.stats import Stats

SHARE: Final = 20
"""How many times longer than it took the next one is put off."""
LONGEST_PAUSE: Final = 300.0
"""So that in ten minutes, the wider of the buckets, there is always a sample."""
APART: Final = 0.75
"""The share of a pause in which no other scheduler samples: less than what chance leaves of our own pauses."""
STATEMENT_SECONDS: Final = 30.0


class DepthSampler:
    """Keeps the charts of how many tasks wait."""

    name = "sample depth"

    def __init__(self, store: Stats, *, clock: Clock, every: float = 20.0) -> None:
        self.every = every
        self._usually_every = every
        self._store = store
        self._clock = clock

    async def pass_once(self) -> bool:
        """Take a sample, unless another scheduler just has; tell whether."""
        began = self._clock.monotonic()
        is_spared = False
        try:
            async with asyncio.timeout(STATEMENT_SECONDS):
                is_spared = not await self._store.sample_depth(apart_ms=int(self.every * APART * 1000))
        finally:  # what failed may have taken longest
            if not is_spared:
                took = self._clock.monotonic() - began
                self.every = min(max(self._usually_every, took * SHARE), LONGEST_PAUSE)
        return not is_spared
