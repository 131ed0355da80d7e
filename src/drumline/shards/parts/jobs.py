"""Jobs: each is with all its tasks in one shard."""

from collections.abc import Sequence

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.attempt import JobAttempt
from drumline.core.errors import Conflict, KeyReused, NotFound
from drumline.core.ids import JobId
from drumline.core.job import JobView, NewJob, NodeView
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.jobs import ChangedJob, JobAnswer, JobFilter, Rippled, SubmittedJob
from drumline.ports.store import Store
from drumline.shards.asking import Router, is_not_found
from drumline.shards.parts.merging import Part, newest
from drumline.shards.parts.waits import Waits


class Jobs(Part):
    """`ports.jobs.Jobs`."""

    def __init__(self, router: Router) -> None:
        super().__init__(router)
        self._waits = Waits(router)

    async def submit_jobs(self, jobs: Sequence[NewJob]) -> list[JobAnswer]:
        """Store jobs durably with their tasks and edges, each whole or not at all.

        A job that depends on one of another shard waits until the end of that is told to it, also if it has ended.
        """
        return await self._router.split(
            [self._with_far(job) for job in jobs],
            lambda store, part: store.jobs.submit_jobs(part),
            key=lambda job: job.id,
        )

    async def known_jobs(self, jobs: Sequence[NewJob]) -> list[SubmittedJob | KeyReused | None]:
        """Return the answers for jobs that are stored already, by their id or their key; None for the others."""
        return await self._router.split(jobs, lambda store, part: store.jobs.known_jobs(part), key=lambda job: job.id)

    def _with_far(self, job: NewJob) -> NewJob:
        of = self._router.members.of
        far = frozenset(other for other in job.depends_on if of(other).name != of(job.id).name)
        return replace(job, elsewhere=far) if far else job

    async def start_jobs(self, jobs: Sequence[JobId]) -> Effects:
        """Note that tasks of these jobs have been claimed, and return the jobs for which that is news."""

        async def start(store: Store, part: list[JobId]) -> list[Effects]:
            return [await store.jobs.start_jobs(part)] + [NO_EFFECTS] * (len(part) - 1)

        return sum(await self._router.split(jobs, start), NO_EFFECTS)

    async def get_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[JobView | None]:
        """Return jobs as they stand, with their running tasks counted; None for those that do not exist."""
        return await self._router.split(
            jobs, lambda store, part: store.jobs.get_jobs(part, tenant=tenant), is_absent=lambda view: view is None
        )

    async def list_jobs(self, which: JobFilter, *, limit: int, before: JobId | None = None) -> list[JobView]:
        """Return jobs, newest first, starting below `before`; their running tasks are not counted."""
        lists = await self._router.each(lambda store: store.jobs.list_jobs(which, limit=limit, before=before))
        return newest(lists, limit=limit)

    async def nodes(self, job: JobId, *, tenant: str | None = None) -> list[NodeView]:
        """Return the tasks of a job in the order in which they were given; raises `NotFound`."""
        return await self._router.one(job, lambda store: store.jobs.nodes(job, tenant=tenant))

    async def job_attempts(self, job: JobId, *, limit: int, tenant: str | None = None) -> list[JobAttempt]:
        """Return up to `limit` executions of a job's tasks; raises `NotFound`."""
        return await self._router.one(job, lambda store: store.jobs.job_attempts(job, limit=limit, tenant=tenant))

    async def results(self, tasks: Sequence[tuple[JobId, str]]) -> list[Raw | None]:
        """Return what tasks of jobs, by their keys, gave back; None for one that has not completed."""
        return await self._router.split(tasks, lambda store, part: store.jobs.results(part), key=lambda each: each[0])

    async def cancel_jobs(
        self,
        jobs: Sequence[JobId],
        *,
        tenant: str | None = None,
        force: bool = False,
        reason: str | None = None,
    ) -> list[ChangedJob | NotFound | Conflict]:
        """Cancel the waiting tasks of jobs at once and ask the running ones to stop; `force` ends those too, now."""
        return await self._router.split(
            jobs,
            lambda store, part: store.jobs.cancel_jobs(part, tenant=tenant, force=force, reason=reason),
            is_absent=is_not_found,
        )

    async def resume_jobs(
        self, jobs: Sequence[JobId], *, tenant: str | None = None
    ) -> list[ChangedJob | NotFound | Conflict]:
        """Run the failed, cancelled and skipped tasks of jobs again, and only those; results are kept."""
        return await self._router.split(
            jobs, lambda store, part: store.jobs.resume_jobs(part, tenant=tenant), is_absent=is_not_found
        )

    async def ripple(self, *, limit: int = 100) -> Rippled:
        """Tell up to `limit` jobs that others which they depend on have ended, in their own shard and in others."""
        found = await self._router.in_turn(
            limit, lambda store, left: store.jobs.ripple(limit=left), count=lambda rippled: rippled.told
        )
        far = await self._ripple_far(limit)
        return Rippled(
            told=sum(rippled.told for rippled in found) + len(far),
            effects=sum((rippled.effects for rippled in found), NO_EFFECTS) + sum(far, NO_EFFECTS),
            is_done=len(found) == len(self._router.shards)
            and all(rippled.is_done for rippled in found)
            and len(far) < limit,
        )

    async def _ripple_far(self, limit: int) -> list[Effects]:
        """Register waits at jobs of other shards, and tell the jobs that wait of those that have ended."""
        waits = await self._waits.unregistered(limit=limit)
        missing = await self._waits.register(waits)
        await self._waits.mark_registered([wait for wait in waits if wait not in missing])
        ripples = await self._waits.ripples(limit=limit)
        answers = await self._waits.tell(ripples)
        told = [(ripple, effects) for ripple, effects in zip(ripples, answers, strict=True) if effects is not None]
        await self._waits.delete_ripples([ripple.number for ripple, _ in told])
        return [effects for _, effects in told]
