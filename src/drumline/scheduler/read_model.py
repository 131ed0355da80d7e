"""Keep the read model: what it holds of tasks and jobs that wait lives as long as they do.

Notes of what may change expire after a minute, so that one which was never followed by the next is not wrong for long.
Running tasks are kept by the heartbeats of their workers, and delayed ones until they are due. The rest is renewed
here: tasks that are due and not taken yet, and those that are blocked, each up to a bound. What is missing of them is
written anew. Any number of schedulers may do it; one at a time does.
"""

import asyncio
from typing import Final

from drumline.core.clock import Instant
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobStatus
from drumline.core.state import status_of
from drumline.engine.read_model_notes import ReadModelNotes
from drumline.ports.jobs import JobFilter
from drumline.ports.read_model import ReadModel
from drumline.ports.store import Store

EVERY: Final = 20.0
"""Seconds; a third of the time after which notes of what may change expire."""
SHARE: Final = 0.75
"""The part of that time for which other schedulers leave it to the one that has begun."""
MOST: Final = 10_000
"""Due tasks that are kept, and blocked ones."""
MOST_WRITTEN: Final = 500
"""Tasks that are written anew in one pass."""
YOUNG_MS: Final = 15_000
"""Tasks that became due less than this ago were noted lately, or are about to be taken."""
JOBS_EVERY: Final = 3600 * 1000
"""Milliseconds between two passes over the jobs, which are kept for a day."""
MOST_JOBS: Final = 10_000
JOBS_AT_ONCE: Final = 500
PASS_SECONDS: Final = 60.0


class ReadModelKeeper:
    """Renews the notes of tasks and jobs that wait."""

    name = "keep the read model"
    every = EVERY

    def __init__(self, store: Store, model: ReadModel, notes: ReadModelNotes) -> None:
        self._store = store
        self._model = model
        self._notes = notes
        self._jobs_kept_at = 0

    async def pass_once(self) -> int:
        """Renew what waits, and return how many tasks that were; 0 if another scheduler has done it."""
        if not await self._model.may_keep(EVERY * SHARE):
            return 0
        async with asyncio.timeout(PASS_SECONDS):
            now = await self._store.queries.now()
            await self._keep_jobs(now)
            waiting = await self._store.waiting_tasks(due_before=Instant(now - YOUNG_MS), limit=MOST)
            absent = await self._model.keep_waiting([(task, status_of(state, now, now)) for task, state in waiting])
            await self._write(absent or [])
        return len(waiting)

    async def _write(self, tasks: list[TaskId]) -> None:
        for view in await self._store.queries.get(tasks[:MOST_WRITTEN]):
            if view is not None:
                self._notes.seen(view, None)

    async def _keep_jobs(self, now: Instant) -> None:
        if now - self._jobs_kept_at < JOBS_EVERY:
            return
        living = JobFilter(statuses=frozenset({JobStatus.PENDING, JobStatus.PROCESSING}))
        before: JobId | None = None
        for _ in range(MOST_JOBS // JOBS_AT_ONCE):
            jobs = await self._store.jobs.list_jobs(living, limit=JOBS_AT_ONCE, before=before)
            await self._model.keep_jobs([job.id for job in jobs])
            if len(jobs) < JOBS_AT_ONCE:
                break
            before = jobs[-1].id
        self._jobs_kept_at = now
