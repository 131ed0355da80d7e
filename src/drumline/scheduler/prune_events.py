"""Prune events: drop rows of the log that every consumer has passed on and that are older than the retention."""

import asyncio
from datetime import timedelta

import structlog

from drumline.core.clock import Instant
from drumline.core.duration import millis
from drumline.ports.store import Store

BATCH = 1000
MOST_BATCHES = 40
"""Batches in one pass; what is left waits for the next one, so that a pass has an end."""
BEHIND_EVERY = 0.1
STATEMENT_SECONDS = 30.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class EventPruner:
    """Keeps the log of events short."""

    name = "prune events"

    def __init__(
        self, store: Store, *, retention: timedelta, rows: int, every: float = 30.0, batch: int = BATCH
    ) -> None:
        self.every = every
        self._usually_every = every
        self._store = store
        self._retention = retention
        self._rows = rows
        self._batch = batch

    async def pass_once(self) -> int:
        """Drop what is too old or too much, and return how many rows that were."""
        await self._sequence()
        async with asyncio.timeout(STATEMENT_SECONDS):
            written_before = Instant(await self._store.queries.now() - millis(self._retention))
        pruned = 0
        for _ in range(MOST_BATCHES):
            async with asyncio.timeout(STATEMENT_SECONDS):
                count = await self._store.events.prune_events(
                    written_before=written_before, most=self._rows, limit=self._batch
                )
            pruned += count
            if count < self._batch:
                self.every = self._usually_every
                break
        else:
            self.every = min(BEHIND_EVERY, self._usually_every)
        if pruned:
            log.info("events.pruned", rows=pruned)
        return pruned

    async def _sequence(self) -> None:
        """Give positions to all rows: without a consumer no other process does so."""
        for _ in range(MOST_BATCHES):
            async with asyncio.timeout(STATEMENT_SECONDS):
                if await self._store.events.sequence(limit=self._batch) < self._batch:
                    return
