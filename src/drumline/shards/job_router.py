"""The way of new jobs to their shards.

A job goes as a whole to the shard that takes new work of its slot, as tasks do (`task_router.py`). Jobs that it depends
on may belong to other shards: those are asked whether they exist, unless they cannot be reached. Then the job is
accepted: it waits, and fails with the reason if it turns out that there is no such job.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import structlog
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.accept_job import with_new_ids
from drumline.core.errors import DrumlineError, Invalid, KeyReused, Moved, NotFound, Unavailable
from drumline.core.ids import IdSource, JobId
from drumline.core.job import NewJob
from drumline.core.slots import slot_of
from drumline.engine.submit_jobs import TASK_BYTES
from drumline.ports.drain import job_key
from drumline.ports.jobs import JobAnswer, SubmittedJob
from drumline.shards.forwarding import Forwarding
from drumline.shards.keys import MOST_HOPS
from drumline.shards.shard_set import WAITS_FOR_MOVE, Shard, ShardSet

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class JobRouter:
    """Stores jobs in the shards that take new work of their slots."""

    def __init__(self, shards: ShardSet, ids: IdSource) -> None:
        self._shards = shards
        self._ids = ids
        self._forwarding = Forwarding(shards)

    async def join(self, job: NewJob, /) -> JobAnswer:
        """Store one job."""
        answer: JobAnswer = Moved("the slot of the job is being moved")
        if self._shards.is_lone:
            answer = await self._shards.directory.engine.jobs.submissions.storing.join(job)
            if not isinstance(answer, Moved):
                return answer
        for seconds in WAITS_FOR_MOVE:
            looks = self._shards.looks
            answer = await self._send(job)
            if not isinstance(answer, Moved):
                break
            await self._shards.await_move(looks, at_most=seconds)
            job = await self._placed(job)
        return answer

    async def _send(self, job: NewJob) -> JobAnswer:
        """Send a job to its shard; the answer is `Moved` if it is worth another try."""
        history = self._shards.map.history(slot_of(job.id))
        name = history[job.slot_version].shard
        if self._shards.is_away(name):
            if job.idempotency_key is not None:
                raise Unavailable(f"shard {name}, which has jobs with this idempotency key, cannot be reached")
            return Moved(f"shard {name} cannot be reached")
        if job.idempotency_key is not None:
            former = {entry.shard for entry in history[: job.slot_version]} - {name}
            if (known := await self._known_before(former, name, job)) is not None:
                return known
        if job.depends_on:
            refusal = await self._refusal(job)
            if refusal is not None:
                return (None if job.idempotency_key is None else await self._known_in(name, job)) or refusal
            # Those that are not in its own database are in others, wherever they go.
            job = replace(job, elsewhere=frozenset(job.depends_on))
        return await self._store_in(name, job)

    async def _store_in(self, name: str, job: NewJob) -> JobAnswer:
        with self._shards.reaching(name):
            return await self._shards.named(name).engine.jobs.submissions.storing.join(job)

    async def _known_before(
        self, former: set[str], present: str, job: NewJob
    ) -> SubmittedJob | KeyReused | Moved | None:
        """Return the answer for a job whose key former owners of its slot know, or the present one has given away."""
        for name in former:
            if (known := await self._known_in(name, job)) is not None:
                return known
        return await self._taken_out(present, job)

    async def _known_in(self, name: str, job: NewJob) -> SubmittedJob | KeyReused | Moved | None:
        """Return the answer of a shard for a job whose key is known there, or was before that job was moved."""
        try:
            with self._shards.reaching(name):
                (known,) = await self._shards.named(name).store.jobs.known_jobs([job])
        except NotFound:  # the shard has been removed, with every key in it: the map that names it is old
            return Moved("the map has changed")
        return known or await self._taken_out(name, job)

    async def _taken_out(self, name: str, job: NewJob) -> SubmittedJob | KeyReused | Moved | None:
        """Return the answer for a job whose key belongs to a job that was moved from a shard."""
        key = job_key(job.tenant, job.idempotency_key or "")
        first = (await self._shards.named(name).store.drainage.reserved([key])).get(key)
        if first is None:
            return None
        place = ""
        for _ in range(MOST_HOPS):
            shard = (await self._forwarding.forwarded([first])).get(first)
            if shard is None or shard.name == place:
                return None  # it was deleted where it was
            (known,) = await shard.store.jobs.known_jobs([job])
            if known is not None:
                return known
            place = shard.name  # perhaps it has moved on since
        return Moved("the job of this key is being moved")

    async def _refusal(self, job: NewJob) -> Invalid | None:
        """Return why a job cannot be stored: it depends on a job that does not exist."""
        looks = self._shards.looks
        missing = await self._missing(job)
        if missing:  # perhaps by a map that is behind
            with suppress(Unavailable):
                await self._shards.refresh(since=looks)
            missing = await self._missing(job)
        for place, other in enumerate(job.depends_on):
            if other in missing:
                return Invalid(f"there is no job {other}", field=f"depends_on[{place}]")
        return None

    async def _missing(self, job: NewJob) -> set[JobId]:
        """Return the jobs that a job depends on, and that the shards which should have them do not know."""
        asked: defaultdict[str, list[JobId]] = defaultdict(list)
        for other in job.depends_on:
            asked[self._shards.map.holder(other)].append(other)
        missing: set[JobId] = set()
        for holder, others in asked.items():
            if self._shards.is_away(holder):
                continue  # whether they exist is found out when the wait is registered
            try:
                absent = await self._absent_in(self._shards.named(holder), others, job.tenant)
                moved = await self._forwarding.forwarded(sorted(absent)) if absent else {}
                for other in absent:
                    missing |= await self._absent_in(moved[other], [other], job.tenant) if other in moved else {other}
            except DrumlineError as error:
                log.info("job.not_checked", shard=holder, error=error.message)
                self._shards.note_away(holder)
        return missing

    async def _absent_in(self, shard: Shard, jobs: Sequence[JobId], tenant: str) -> set[JobId]:
        views = await shard.store.jobs.get_jobs(jobs, tenant=tenant)
        return {job for job, view in zip(jobs, views, strict=True) if view is None}

    async def _placed(self, job: NewJob) -> NewJob:
        """Return a job with new ids, by the map as it is now."""
        id_ = JobId(self._ids.next(None if job.idempotency_key is None else slot_of(job.id)))
        tasks = self._ids.take_in(slot_of(id_), len(job.tasks))
        placed = replace(job, slot_version=self._ids.version(id_))
        return await off_loop(TASK_BYTES * len(tasks), lambda: with_new_ids(placed, id=id_, tasks=tasks))
