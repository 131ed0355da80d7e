"""Bulk: carry out what was asked for many tasks, piece by piece, each operation at its own rate.

Any number of schedulers do it side by side. The store lets one of them at an operation at a time, and carries out and
notes each piece in one transaction: a scheduler that dies in the middle leaves the rest to the others.
"""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from drumline.core.bulk import BulkId, BulkState
from drumline.core.clock import Clock, Instant
from drumline.core.duration import millis
from drumline.engine.engine import Engine
from drumline.ports.bulk import Advanced

PIECE: Final = 200
"""Tasks dealt with in one transaction: others who want to write wait for some tens of milliseconds."""
PASS_SECONDS: Final = 5.0
"""How long a pass goes on while there is something to do."""
STEP_SECONDS: Final = 60.0
BUSY_EVERY: Final = 0.1
"""Seconds from one pass to the next while an operation is under way: a rate shall not come in gusts."""
PRUNE_EVERY: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class BulkDuty:
    """Deals with the tasks of bulk operations."""

    name = "bulk"

    def __init__(self, engine: Engine, *, clock: Clock, retention: timedelta, every: float = 0.5) -> None:
        self.every = every
        self._usually_every = every
        self._engine = engine
        self._clock = clock
        self._retention = retention
        self._prune_at = 0.0

    async def pass_once(self) -> int:
        """Deal with what may be dealt with now, and return how many tasks that were."""
        ends_at = self._clock.monotonic() + PASS_SECONDS
        async with asyncio.timeout(STEP_SECONDS):
            running = await self._engine.store.bulks.running_bulks()
        self.every = BUSY_EVERY if running else self._usually_every
        dealt = 0
        # In turn, so that a large operation does not hold up a small one.
        while running and self._clock.monotonic() < ends_at:
            steps = [await self._step(bulk) for bulk in running]
            dealt += sum(count for count, _ in steps)
            running = [bulk for bulk, (_, has_more) in zip(running, steps, strict=True) if has_more]
        await self._prune()
        return dealt

    async def _step(self, bulk: BulkId) -> tuple[int, bool]:
        """Deal with a piece; return how many tasks that were, and whether there is more to be done at once."""
        async with asyncio.timeout(STEP_SECONDS):
            advanced = await self._engine.bulk.advance(bulk, limit=PIECE)
        if advanced is None:
            return 0, False
        if advanced.view.state is BulkState.COMPLETED:
            _tell(advanced)
        is_paced = advanced.view.rate is not None
        return len(advanced.changed), advanced.view.state is BulkState.RUNNING and not is_paced

    async def _prune(self) -> None:
        now = self._clock.monotonic()
        if not self._retention or now < self._prune_at:
            return
        self._prune_at = now + PRUNE_EVERY
        async with asyncio.timeout(STEP_SECONDS):
            ended_before = Instant(await self._engine.store.queries.now() - millis(self._retention))
            await self._engine.store.bulks.prune_bulks(ended_before=ended_before)


def _tell(advanced: Advanced) -> None:
    view = advanced.view
    log.info("bulk.completed", bulk=view.id, act=view.act, done=view.done, skipped=view.skipped, failed=view.failed)
