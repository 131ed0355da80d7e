"""Ripple: jobs that wait for others are told when those have ended.

The process that ends a job does so right after its commit. This duty is the safety net: for processes that died in
between, and for a store that was unavailable.
"""

import asyncio
from typing import Final

import structlog

from drumline.engine.engine import Engine

PASS_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Ripple:
    """Tells jobs of the ends of others."""

    name = "ripple"

    def __init__(self, engine: Engine, *, every: float = 1.0) -> None:
        self.every = every
        self._engine = engine

    async def pass_once(self) -> int:
        """Tell all who have to be told, and return how many that were."""
        async with asyncio.timeout(PASS_SECONDS):
            told = await self._engine.effects.ripple()
        if told:
            log.info("jobs.told", jobs=told)
        return told
