"""Prune: delete tasks that ended longer ago than they are kept for, and notes of runs, in small transactions."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import monotonic
from typing import Final

import structlog

from drumline.core.clock import Instant
from drumline.core.duration import millis
from drumline.ports.store import Store

BATCH: Final = 1000
"""Tasks in one transaction: ten milliseconds of work, so that neither a lock nor the horizon of a vacuum waits long."""
MOST_BATCHES: Final = 100
"""Batches in one pass; what is left waits for the next one, so that a pass has an end."""
BEHIND_EVERY: Final = 0.1
"""Seconds to the next pass when something was left: as many tasks have to leave in a second as come."""
BUSY_EVERY: Final = 1.0
"""The same when there was more than a batch: a little each second is felt less than much each minute."""
REST: Final = 0.25
"""The share of a batch's time that is left to others after it, unless pruning is behind."""
STATEMENT_SECONDS: Final = 30.0

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
        self._rest = REST

    async def pass_once(self) -> int:
        """Delete what is too old, and return how many tasks that were; a retention of zero keeps everything."""
        if not self._retention:
            return 0
        async with asyncio.timeout(STATEMENT_SECONDS):
            ended_before = Instant(await self._store.queries.now() - millis(self._retention))
        tasks, are_all = await self._delete(
            lambda: self._store.prune(ended_before=ended_before, limit=self._batch),
        )
        notes, are_all_notes = await self._delete(
            lambda: self._store.schedules.prune_runs(before=ended_before, limit=self._batch),
        )
        now = Instant(ended_before + millis(self._retention))
        keys, are_all_keys = await self._delete(
            lambda: self._store.collapsing.prune(before=now, limit=self._batch),
        )
        is_behind = not (are_all and are_all_notes and are_all_keys)
        self._rest = 0.0 if is_behind else REST
        self.every = min(self._usually_every, self._next_in(max(tasks, notes, keys), is_behind=is_behind))
        if tasks:
            log.info("tasks.pruned", tasks=tasks)
        return tasks

    async def _delete(self, prune: Callable[[], Awaitable[int]]) -> tuple[int, bool]:
        """Delete batch by batch; return how many rows that were, and whether none is left."""
        deleted = 0
        for _ in range(MOST_BATCHES):
            began = monotonic()
            async with asyncio.timeout(STATEMENT_SECONDS):
                count = await prune()
            deleted += count
            if count < self._batch:
                return deleted, True
            await asyncio.sleep((monotonic() - began) * self._rest)
        return deleted, False

    def _next_in(self, deleted: int, *, is_behind: bool) -> float:
        if is_behind:
            return BEHIND_EVERY
        return BUSY_EVERY if deleted > self._batch else self._usually_every
