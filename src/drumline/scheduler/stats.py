"""Stats: count the events of the log for charts and metrics, and drop counts that are too old to be shown."""

import asyncio
from typing import Final

from drumline.core.clock import Instant
from drumline.core.metrics import Metrics
from drumline.core.stats import STEPS
from drumline.ports.store import Store

ROWS: Final = 200
"""Rows of the log in one transaction; a row is a batch of up to some hundred acts."""
MOST_BATCHES: Final = 50
STATEMENT_SECONDS: Final = 30.0
KEPT_MS: Final = {STEPS[0]: 6 * 3_600_000, STEPS[1]: 8 * 24 * 3_600_000}
"""How long figures of each width are kept: minutes for the charts of some hours, ten minutes for those of a week."""
PRUNE_EVERY: Final = 300
"""Passes from one pruning to the next."""


class StatsCounter:
    """Keeps the charts up to date."""

    name = "stats"

    def __init__(self, store: Store, *, metrics: Metrics | None = None, every: float = 2.0) -> None:
        self.every = every
        self._store = store
        self._metrics = metrics or Metrics()
        self._passes = 0

    async def pass_once(self) -> int:
        """Count what is new, and return how many rows of the log that were."""
        counted = 0
        for _ in range(MOST_BATCHES):
            async with asyncio.timeout(STATEMENT_SECONDS):
                await self._store.events.sequence()
                gathered = await self._store.stats.gather_stats(limit=ROWS)
            for figure in gathered.figures:
                self._metrics.count(figure)
            counted += gathered.rows
            if gathered.rows < ROWS:
                break
        if self._passes % PRUNE_EVERY == 0:
            await self._prune()
        self._passes += 1
        return counted

    async def _prune(self) -> None:
        async with asyncio.timeout(STATEMENT_SECONDS):
            now = await self._store.queries.now()
            for step, kept in KEPT_MS.items():
                await self._store.stats.prune_stats(step=step, before=Instant(now - kept))
