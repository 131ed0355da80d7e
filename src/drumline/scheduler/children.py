"""Children: those of tasks that have ended are cancelled, and those of tasks that were retried are retried."""

import asyncio
from typing import Final

import structlog

from drumline.engine.engine import Engine

PASS_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class ChildNotes:
    """Works off the notes that ends and retries of parents leave, in batches."""

    name = "children"

    def __init__(self, engine: Engine, *, every: float = 1.0) -> None:
        self.every = every
        self._engine = engine

    async def pass_once(self) -> int:
        """Do what is noted, and return how many children were cancelled or retried."""
        async with asyncio.timeout(PASS_SECONDS):
            count = await self._engine.children.work_notes()
        if count:
            log.info("children.told", children=count)
        return count
