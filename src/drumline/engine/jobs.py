"""All that can be done with jobs: submit, look, wait, cancel, resume."""

from collections.abc import Sequence

from msgspec import Struct

from drumline.core.attempt import JobAttempt
from drumline.core.errors import DrumlineError, Invalid, NotFound
from drumline.core.filter_subjects import JOBS
from drumline.core.filters import read_filter
from drumline.core.ids import JobId, parse_job_id, parse_task_id
from drumline.core.job import ENDED, JobRequest, JobView, NodeView
from drumline.core.mapping import AllowTask
from drumline.core.task import DEFAULT_TENANT
from drumline.core.tuning import Tuning
from drumline.engine.effects import EffectFollower
from drumline.engine.filtering import jobs_narrowed_by
from drumline.engine.options import EngineOptions
from drumline.engine.query import LOOK_EVERY, TaskPage, large_page
from drumline.engine.searching import search
from drumline.engine.stops import StopSignals
from drumline.engine.submit_jobs import JobSubmissions
from drumline.ports.jobs import ChangedJob, JobFilter, SubmittedJob
from drumline.ports.store import Store, TaskFilter


class JobPage(Struct, frozen=True):
    """A stretch of the list of jobs, and the cursor that continues it."""

    items: tuple[JobView, ...]
    next_cursor: str | None
    is_partial: bool = False
    """Whether a search stopped before it had found a whole page: the cursor goes on with it."""


class JobService:
    """Jobs, for people and programs. A `tenant` of None sees every tenant's."""

    def __init__(
        self,
        submissions: JobSubmissions,
        store: Store,
        effects: EffectFollower,
        stops: StopSignals,
        *,
        options: EngineOptions,
    ) -> None:
        self.submissions = submissions
        self._store = store
        self._effects = effects
        self._stops = stops
        self._clock = options.clock
        self._limits = options.limits
        self._blobs = options.blobs

    def tune(self, tuning: Tuning) -> None:
        """Go by other defaults from now on."""
        self.submissions.tune(tuning)

    async def submit(
        self, request: JobRequest, *, tenant: str = DEFAULT_TENANT, allow: AllowTask | None = None
    ) -> SubmittedJob:
        """Store a job with all its tasks, or raise the reason why not; an answer means that it is durable."""
        return await self.submissions.submit(request, tenant=tenant, allow=allow)

    async def get(self, job: JobId, *, tenant: str | None = None) -> JobView:
        """Return a job, or raise `NotFound`."""
        (view,) = await self._store.jobs.get_jobs([job], tenant=tenant)
        if view is None:
            raise NotFound(f"there is no job {job}", field="id")
        return view

    async def wait(self, job: JobId, *, seconds: float, tenant: str | None = None) -> JobView:
        """Return a job once it has ended, or in its current state after `seconds`."""
        deadline = self._clock.monotonic() + seconds
        while True:
            view = await self.get(job, tenant=tenant)
            left = deadline - self._clock.monotonic()
            if view.status in ENDED or left <= 0:
                return view
            await self._effects.endings.wait(job, min(left, LOOK_EVERY))

    async def list_jobs(
        self, which: JobFilter, *, text: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> JobPage:
        """Return a page of jobs, newest first; those that a filter's text means, if there is one."""
        self._check_limit(limit)
        before = None if cursor is None else parse_job_id(cursor, field="cursor")
        if text is not None:
            return await self._search(which, text, limit=limit, before=before)
        views = await self._store.jobs.list_jobs(which, limit=limit + 1, before=before)
        return JobPage(tuple(views[:limit]), views[limit - 1].id if len(views) > limit else None)

    async def _search(self, which: JobFilter, text: str, *, limit: int, before: JobId | None) -> JobPage:
        now = self._clock.now()
        also = read_filter(text, JOBS, now=now)
        narrowed = jobs_narrowed_by(which, also)

        async def read(count: int, last: JobView | None) -> list[JobView]:
            return await self._store.jobs.list_jobs(narrowed, limit=count, before=before if last is None else last.id)

        found, last = await search(read, lambda job: also.matches(job, now), limit=limit)
        return JobPage(tuple(found), None if last is None else last.id, last is not None and len(found) < limit)

    async def nodes(self, job: JobId, *, tenant: str | None = None) -> list[NodeView]:
        """Return the tasks of a job in the order in which they were given; raises `NotFound`."""
        return await self._store.jobs.nodes(job, tenant=tenant)

    async def attempts(self, job: JobId, *, limit: int, tenant: str | None = None) -> tuple[list[JobAttempt], bool]:
        """Return the latest executions of a job's tasks, and whether there are more; raises `NotFound`."""
        self._check_limit(limit)
        found = await self._store.jobs.job_attempts(job, limit=limit + 1, tenant=tenant)
        return found[:limit], len(found) > limit

    async def results(
        self, job: JobId, *, limit: int = 100, cursor: str | None = None, tenant: str | None = None
    ) -> TaskPage:
        """Return a page of a job's tasks with what they gave back, the last one given first; raises `NotFound`."""
        self._check_limit(limit)
        await self.get(job, tenant=tenant)
        before = None if cursor is None else parse_task_id(cursor, field="cursor")
        return await large_page(self._store.queries, TaskFilter(job=job), self._blobs, limit=limit, before=before)

    async def cancel(
        self, job: JobId, *, force: bool = False, reason: str | None = None, tenant: str | None = None
    ) -> ChangedJob:
        """Cancel a job's waiting tasks at once and ask the running ones to stop, or end them now with `force`."""
        changed = self._done(await self._store.jobs.cancel_jobs([job], tenant=tenant, force=force, reason=reason))
        self._stops.announce()  # some of its tasks may run
        return changed

    async def resume(self, job: JobId, *, tenant: str | None = None) -> ChangedJob:
        """Run a job's failed, cancelled and skipped tasks again, and only those."""
        return self._done(await self._store.jobs.resume_jobs([job], tenant=tenant))

    def _done(self, answers: Sequence[ChangedJob | DrumlineError]) -> ChangedJob:
        (answer,) = answers
        if isinstance(answer, DrumlineError):
            raise answer
        self._effects.follow(answer.effects)
        return answer

    def _check_limit(self, limit: int) -> None:
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")
