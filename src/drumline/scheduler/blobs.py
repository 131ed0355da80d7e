"""Blobs: delete those whose tasks do not exist.

That covers tasks that were pruned, and submissions that never were committed. A blob of a task that exists is kept,
also one that an attempt wrote whose report was refused: it goes with the task.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog

from drumline.core.blob import task_of
from drumline.core.clock import Clock, Instant
from drumline.core.duration import millis
from drumline.engine.blobs import Blobs
from drumline.ports.blobs import BlobEntry
from drumline.ports.store import Store

PAGE: Final = 1000
EVERY: Final = 3600.0
SECONDS: Final = 120.0
"""For one page."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class BlobSweeper:
    """Looks through the blobs of this installation, page by page."""

    name = "blobs"

    def __init__(
        self, blobs: Blobs, store: Store, *, clock: Clock, grace: timedelta, every: float = EVERY, page: int = PAGE
    ) -> None:
        self.every = every
        self._blobs = blobs
        self._store = store
        self._clock = clock
        self._grace = grace
        self._page = page

    async def pass_once(self) -> int:
        """Delete blobs whose tasks do not exist and that are older than the grace; return how many.

        A database that cannot be reached raises, also one of several: nothing is deleted because it was not found.
        """
        blobs = self._blobs.store
        if blobs is None:
            return 0
        home = await self._blobs.home()
        deleted, after = 0, ""
        while True:
            async with asyncio.timeout(SECONDS):
                page = await blobs.list(home, after=after, limit=self._page)
                orphans = await self._orphans(page)
                await blobs.delete(orphans)
            deleted += len(orphans)
            if len(page) < self._page:
                break
            after = page[-1].name
        if deleted:
            log.info("blobs.deleted", blobs=deleted)
        return deleted

    async def _orphans(self, page: Sequence[BlobEntry]) -> list[str]:
        before = Instant(self._clock.now() - millis(self._grace))
        old = [entry.name for entry in page if entry.modified_at < before]
        tasks = list(dict.fromkeys(task for name in old if (task := task_of(name)) is not None))
        views = await self._store.queries.get(tasks, payload=False) if tasks else []
        known = {view.id for view in views if view is not None}
        # What is no blob's name was left by a process that ended while it wrote.
        return [name for name in old if task_of(name) not in known]
