"""Prune: delete tasks that ended longer ago than they are kept for, and notes of runs, without holding anybody up."""

import asyncio
from datetime import timedelta

import structlog

from drumline.core.clock import Instant
from drumline.core.duration import millis
from drumline.ports.store import Store

BATCH = 500
MOST_BATCHES = 40
"""Batches in one pass; what is left waits for the next one, so that a pass has an end."""
BEHIND_EVERY = 0.1
"""Seconds to the next pass when something was left: as many tasks have to leave in a second as come."""
STATEMENT_SECONDS = 30.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Pruner:
    """Lets go of the past."""

    name = "prune"

    def __init__(self, store: Store, *, retention: timedelta, every: float = 60.0, batch: int = BATCH) -> None:
        self.every = every
        self._usually_every = every
        self._store = store
        self._retention = retention
        self._batch = batch

    async def pass_once(self) -> int:
        """Delete what is too old, and return how many tasks that were; a retention of zero keeps everything."""
        if not self._retention:
            return 0
        async with asyncio.timeout(STATEMENT_SECONDS):
            ended_before = Instant(await self._store.now() - millis(self._retention))
        pruned = 0
        for _ in range(MOST_BATCHES):
            async with asyncio.timeout(STATEMENT_SECONDS):
                count = await self._store.prune(ended_before=ended_before, limit=self._batch)
            async with asyncio.timeout(STATEMENT_SECONDS):
                notes = await self._store.prune_runs(before=ended_before, limit=self._batch)
            pruned += count
            if max(count, notes) < self._batch:
                self.every = self._usually_every
                break
        else:
            self.every = min(BEHIND_EVERY, self._usually_every)
        if pruned:
            log.info("tasks.pruned", tasks=pruned)
        return pruned
