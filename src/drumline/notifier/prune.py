"""Deletes deliveries that ended before the retention."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from drumline.core.clock import Instant
from drumline.core.duration import millis
from drumline.ports.store import Store

BATCH: Final = 1000
MOST_BATCHES: Final = 40
"""Batches in one pass; what is left waits for the next one."""
STATEMENT_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class DeliveryPruner:
    """Deletes old deliveries, in batches."""

    name = "prune deliveries"
    every = 60.0

    def __init__(self, store: Store, *, retention: timedelta) -> None:
        self._store = store
        self._retention = retention

    async def pass_once(self) -> int:
        """Delete what is too old, and return how many deliveries that were; a retention of zero keeps everything."""
        if not self._retention:
            return 0
        async with asyncio.timeout(STATEMENT_SECONDS):
            before = Instant(await self._store.queries.now() - millis(self._retention))
        pruned = 0
        for _ in range(MOST_BATCHES):
            async with asyncio.timeout(STATEMENT_SECONDS):
                count = await self._store.deliveries.prune_deliveries(finished_before=before, limit=BATCH)
            pruned += count
            if count < BATCH:
                break
        if pruned:
            log.info("deliveries.pruned", deliveries=pruned)
        return pruned
