"""Submitting jobs: each whole or not at all."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.errors import Invalid, KeyReused
from drumline.core.ids import JobId, TaskId
from drumline.core.job import ENDED, JobStatus, NewJob, NewJobTask
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.hint import Effects, Hint
from drumline.ports.jobs import JobAnswer, SubmittedJob
from drumline.stores.driver import Line, RowVanished, Transaction, tell_facts
from drumline.stores.job_rows import STATUS_OF, JobRow, job_error, job_fact, job_row
from drumline.stores.parts.expiry import note_expiries
from drumline.stores.parts.ripple import JobRipple


class Member(NamedTuple):
    """A task of a new job, and the state in which it begins."""

    job: JobId
    each: NewJobTask
    state: State


class JobSubmission(JobRipple):
    """`submit_jobs` of `ports.jobs.Jobs`."""

    async def _know_lanes(self, lanes: Iterable[Lane]) -> None:
        """Give numbers to lanes before the transaction, where that is a transaction of its own."""
        raise NotImplementedError

    async def _insert_members(
        self, transaction: Transaction, members: Sequence[Member], jobs: Sequence[NewJob]
    ) -> Instant:
        """Store the tasks of new jobs, if the slots of these are open here, and return the time of the submission."""
        raise NotImplementedError

    async def submit_jobs(self, jobs: Sequence[NewJob]) -> list[JobAnswer]:
        """Store jobs durably with their tasks and edges, each whole or not at all."""
        if not jobs:
            return []
        await self._know_lanes({each.task.lane for job in jobs for each in job.tasks})
        answers = await self._database.transact(Line.SUBMIT, partial(self.submit_in, jobs=jobs), repeat=True)
        return [answers[job.id] for job in jobs]

    async def known_jobs(self, jobs: Sequence[NewJob]) -> list[SubmittedJob | KeyReused | None]:
        """Return the answers for jobs that are stored here already, by their id or their key; None for the others."""
        answers = await self._database.transact(Line.SUBMIT, partial(_known, jobs=jobs), repeat=True)
        return [answers.get(job.id) for job in jobs]

    async def submit_in(self, transaction: Transaction, jobs: Sequence[NewJob]) -> dict[JobId, JobAnswer]:
        """Store jobs as part of a transaction."""
        needed = await _needed(transaction, jobs)
        refused = {job.id: reason for job in jobs if (reason := _refusal(job, needed)) is not None}
        new = await self._insert(transaction, [job for job in jobs if job.id not in refused], needed)
        answers: dict[JobId, JobAnswer] = {}
        if new:
            answers |= await self._insert_tasks(transaction, list(new.values()), needed)
        # After the tasks are stored: the job of a key may be among these.
        answers |= await _known(transaction, [job for job in jobs if job.id not in new])
        for job in jobs:
            if job.id not in answers:
                if job.id not in refused:
                    raise RowVanished(f"the job of the idempotency key {job.idempotency_key!r} was pruned just now")
                answers[job.id] = refused[job.id]
        return answers

    async def _insert(
        self, transaction: Transaction, jobs: Sequence[NewJob], needed: Mapping[str, JobRow]
    ) -> dict[JobId, NewJob]:
        """Store what is new of jobs, but for their tasks, and return it."""
        jobs = sorted(jobs, key=lambda job: (job.tenant, job.idempotency_key or "", job.id))
        rows = await transaction.fetch(
            "insert_jobs",
            ids=[job.id for job in jobs],
            tenants=[job.tenant for job in jobs],
            names=[job.name for job in jobs],
            owners=[job.owner for job in jobs],
            options=[encode(job.options).decode() for job in jobs],
            totals=[len(job.tasks) for job in jobs],
            pending_jobs=[len(_waits_for(job, needed)) + len(_far(job, needed)) for job in jobs],
            keys=[job.idempotency_key for job in jobs],
            fingerprints=[job.fingerprint for job in jobs],
            schedules=[job.schedule_id for job in jobs],
            fire_times=[job.fire_time for job in jobs],
            now=self._now(),
        )
        stored = {str(id_) for (id_,) in rows}
        new = {job.id: job for job in jobs if job.id in stored}
        deps = [(job.id, other) for job in new.values() for other in job.depends_on]
        if deps:
            await transaction.fetch(
                "insert_deps",
                jobs=[job for job, _ in deps],
                needed=[other for _, other in deps],
                done=[other in needed and needed[other].status is JobStatus.COMPLETED for _, other in deps],
                far=[other not in needed for _, other in deps],
            )
        return new

    async def _insert_tasks(
        self, transaction: Transaction, jobs: Sequence[NewJob], needed: Mapping[str, JobRow]
    ) -> dict[JobId, JobAnswer]:
        """Store the tasks and edges of new jobs, and return the answers for them."""
        waiting = {job.id for job in jobs if _waits_for(job, needed) or _far(job, needed)}
        members = [
            Member(job.id, each, State.BLOCKED if each.needs or job.id in waiting else State.QUEUED)
            for job in jobs
            for each in job.tasks
        ]
        now = await self._insert_members(transaction, members, jobs)
        await note_expiries(transaction, [each.task for _, each, _ in members])
        edges = [(parent, each.task.id) for _, each, _ in members for parent in each.needs]
        if edges:
            await transaction.fetch(
                "insert_edges", parents=[parent for parent, _ in edges], children=[child for _, child in edges]
            )
        rows = [job_row(row) for row in await transaction.fetch("jobs", ids=[job.id for job in jobs])]
        await tell_facts(transaction, [job_fact("submitted", row) for row in rows], now=self._now())
        stored = {row.id: row for row in rows}
        return {job.id: await self._begin(transaction, job, stored[job.id], needed, now) for job in jobs}

    async def _begin(
        self, transaction: Transaction, job: NewJob, row: JobRow, needed: Mapping[str, JobRow], now: Instant
    ) -> SubmittedJob:
        """Return the answer for a new job: what of it is due, or that a job it depends on has failed already."""
        waits_for = _waits_for(job, needed)
        failed = next((other for other in waits_for if other.status in ENDED), None)
        if failed is not None:
            effects = await self._fail_job(transaction, row, failed.id, job_error(failed))
        else:
            waits = waits_for or _far(job, needed)
            effects = Effects(released=() if waits else tuple(_hint(each, now) for each in job.tasks if not each.needs))
        return SubmittedJob(
            id=job.id,
            status=row.status if failed is None else JobStatus.FAILED,
            tasks={each.key: each.task.id for each in job.tasks},
            effects=effects,
        )


def _hint(each: NewJobTask, now: Instant) -> Hint:
    task = each.task
    return Hint(task.id, task.lane, task.run_at if task.run_at is not None else Instant(now + task.delay_ms))


def _waits_for(job: NewJob, needed: Mapping[str, JobRow]) -> list[JobRow]:
    """Return the jobs of this database that a job depends on and that have not completed."""
    here = [needed[other] for other in job.depends_on if other in needed]
    return [other for other in here if other.status is not JobStatus.COMPLETED]


def _far(job: NewJob, needed: Mapping[str, JobRow]) -> list[JobId]:
    """Return the jobs of other shards that a job depends on."""
    return [other for other in job.depends_on if other not in needed]


def _refusal(job: NewJob, needed: Mapping[str, JobRow]) -> Invalid | None:
    for place, other in enumerate(job.depends_on):
        is_missing = other not in needed and other not in job.elsewhere
        if is_missing or (other in needed and needed[other].tenant != job.tenant):
            return Invalid(f"there is no job {other}", field=f"depends_on[{place}]")
    return None


async def _needed(transaction: Transaction, jobs: Sequence[NewJob]) -> dict[str, JobRow]:
    """Return the jobs that jobs are to depend on; none of them can end before this transaction does."""
    ids = sorted({other for job in jobs for other in job.depends_on})
    rows = [job_row(row) for row in await transaction.fetch("share_jobs", ids=ids)] if ids else []
    return {row.id: row for row in rows}


async def _known(transaction: Transaction, jobs: Sequence[NewJob]) -> dict[JobId, SubmittedJob | KeyReused]:
    """Return the answers for jobs whose id or key was used before."""
    if not jobs:
        return {}
    rows = await transaction.fetch(
        "known_jobs",
        ids=[job.id for job in jobs],
        tenants=[job.tenant for job in jobs],
        keys=[job.idempotency_key for job in jobs],
    )
    found = {str(asked): (str(first), STATUS_OF[status], fingerprint) for asked, first, status, fingerprint in rows}
    keys: dict[str, dict[str, TaskId]] = {first: {} for first, _, _ in found.values()}
    for job_id, key, task in await transaction.fetch("job_keys", ids=list(keys)):
        keys[str(job_id)][key] = TaskId(str(task))
    return {job.id: _answer(job, *found[job.id], keys) for job in jobs if job.id in found}


def _answer(
    job: NewJob, first: str, status: JobStatus, fingerprint: bytes, keys: Mapping[str, dict[str, TaskId]]
) -> SubmittedJob | KeyReused:
    if first != job.id and fingerprint != job.fingerprint:
        return KeyReused(f"belongs to job {first}, which was submitted differently", field="idempotency_key")
    return SubmittedJob(id=JobId(first), status=status, tasks=keys[first], created=first == job.id)
