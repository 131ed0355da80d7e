"""Sort: look up the keys of tasks that wait under limits, so that none waits behind those of another key.

A claim that meets a few unsorted tasks sorts them itself. This is for many: those that came at once, and those that
were waiting when a limit was set. It also puts tasks back whose limit has gone.
"""

import asyncio
from typing import Final

import structlog

from drumline.engine.engine import Engine

PASS_SECONDS: Final = 60.0
MOST: Final = 20_000
"""Tasks in one pass."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Sorter:
    """Sorts what waits under limits."""

    name = "sort"

    def __init__(self, engine: Engine, *, every: float = 1.0) -> None:
        self.every = every
        self._engine = engine
        self._is_idle = False
        """Whether the last pass had nothing to do, and there was no limit."""

    async def pass_once(self) -> int:
        """Sort what there is to sort, and return how many tasks that were."""
        async with asyncio.timeout(PASS_SECONDS):
            has_limits = bool(await self._engine.store.limits.limits())
            if self._is_idle and not has_limits:
                return 0
            moved, hints = await self._engine.store.limits.sort_keys(most=MOST)
        self._is_idle = not has_limits and not moved
        if moved:
            self._engine.flow.invalidate()
            self._engine.offer_freed(hints)
            log.info("limits.sorted", tasks=moved)
        return moved
