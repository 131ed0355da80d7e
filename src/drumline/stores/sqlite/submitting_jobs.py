"""Bringing jobs in."""

import sqlite3
from collections.abc import Mapping, Sequence

from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.errors import Invalid, KeyReused
from drumline.core.ids import JobId, TaskId
from drumline.core.job import ENDED, JobStatus, NewJob, NewJobTask
from drumline.core.state import State
from drumline.ports.hint import Effects, Hint
from drumline.ports.jobs import SubmittedJob
from drumline.stores.job_rows import RUN_IFS, JobRow, job_fact
from drumline.stores.sqlite.access import batch_of, tell, tell_facts
from drumline.stores.sqlite.following import jobs_in
from drumline.stores.sqlite.rippling import Rippling
from drumline.stores.sqlite.statements import SQL
from drumline.stores.sqlite.submitting import SUBMITTED


class SubmittingJobs(Rippling):
    """The submitting part of `ports.jobs.Jobs` on SQLite."""

    async def submit_jobs(self, jobs: Sequence[NewJob]) -> list[SubmittedJob | KeyReused | Invalid]:
        """Store jobs durably with their tasks and edges, each whole or not at all."""
        return await self._database.write(lambda connection: [self._submit_job(connection, job) for job in jobs])

    def _submit_job(self, connection: sqlite3.Connection, job: NewJob) -> SubmittedJob | KeyReused | Invalid:
        """Store a job, as part of a transaction."""
        known = _known(connection, job)
        if known is not None:
            return known
        needed = jobs_in(connection, job.depends_on)
        for place, other in enumerate(job.depends_on):
            if other not in needed or needed[other].tenant != job.tenant:
                return Invalid(f"there is no job {other}", field=f"depends_on[{place}]")
        now = self._now()
        waits_for = [other for other in needed.values() if other.status is not JobStatus.COMPLETED]
        self._insert(connection, now, job, needed)
        due = self._insert_tasks(connection, now, job, is_waiting=bool(waits_for))
        tell_facts(connection, now, [job_fact("submitted", row) for row in jobs_in(connection, [job.id]).values()])
        effects = Effects(released=tuple(due))
        failed = next((other for other in waits_for if other.status in ENDED), None)
        if failed is not None:
            effects = self._fail_job(connection, now, jobs_in(connection, [job.id])[job.id], failed)
        return SubmittedJob(
            id=job.id,
            status=jobs_in(connection, [job.id])[job.id].status,
            tasks={each.key: each.task.id for each in job.tasks},
            effects=effects,
        )

    def _insert(self, connection: sqlite3.Connection, now: Instant, job: NewJob, needed: Mapping[str, JobRow]) -> None:
        deps = [(other.id, other.status is JobStatus.COMPLETED) for other in needed.values()]
        connection.execute(
            SQL["insert_job"],
            {
                "id": job.id,
                "tenant": job.tenant,
                "name": job.name,
                "owner": job.owner,
                "options": encode(job.options).decode(),
                "total": len(job.tasks),
                "pending_jobs": sum(not is_done for _, is_done in deps),
                "now": now,
                "idempotency_key": job.idempotency_key,
                "fingerprint": job.fingerprint,
                "schedule_id": job.schedule_id,
                "fire_time": job.fire_time,
            },
        )
        if deps:
            connection.execute(SQL["insert_deps"], {"job": job.id, "batch": batch_of(deps)})

    def _insert_tasks(
        self, connection: sqlite3.Connection, now: Instant, job: NewJob, *, is_waiting: bool
    ) -> list[Hint]:
        """Store a job's tasks and edges, and return those that wait to be claimed."""
        wide: list[tuple[object, ...]] = []
        live: list[tuple[object, ...]] = []
        hints: list[Hint] = []
        for each in job.tasks:
            task = each.task
            due_at = task.run_at if task.run_at is not None else Instant(now + task.delay_ms)
            lane = self._lanes.number(connection, task.lane)
            options = None if task.options is None else task.options.decode()
            wide.append((task.id, lane, task.payload.decode(), options, None, due_at))
            state = State.BLOCKED if each.needs or is_waiting else State.QUEUED
            live.append((task.id, lane, None if state is State.BLOCKED else due_at, state, 0, 0))
            if state is State.QUEUED:
                hints.append(Hint(task.id, task.lane, due_at))
        connection.execute(SQL["insert_tasks"], {"batch": batch_of(wide), "now": now})
        connection.execute(SQL["insert_job_live"], {"batch": batch_of(live)})
        connection.execute(SQL["insert_job_tasks"], {"batch": batch_of([_member(job.id, each) for each in job.tasks])})
        edges = [(parent, each.task.id) for each in job.tasks for parent in each.needs]
        if edges:
            connection.execute(SQL["insert_edges"], {"batch": batch_of(edges)})
        tell(connection, now, [(str(row[0]), SUBMITTED, int(str(row[3])), 0) for row in live])
        return hints


def _member(job: JobId, each: NewJobTask) -> tuple[object, ...]:
    task = each.task
    return (task.id, job, each.key, RUN_IFS.index(each.run_if), len(each.needs), task.delay_ms, task.run_at)


def _known(connection: sqlite3.Connection, job: NewJob) -> SubmittedJob | KeyReused | None:
    """Return the answer for a job whose id or key was used before."""
    found = connection.execute(
        SQL["job_by_key"], {"id": job.id, "tenant": job.tenant, "idempotency_key": job.idempotency_key}
    ).fetchone()
    if found is None:
        return None
    first, fingerprint = found
    if first != job.id and fingerprint != job.fingerprint:
        return KeyReused(f"belongs to job {first}, which was submitted differently", field="idempotency_key")
    return SubmittedJob(
        id=JobId(first),
        status=jobs_in(connection, [first])[first].status,
        tasks={key: TaskId(task) for key, task in connection.execute(SQL["job_keys"], {"job": first})},
        created=first == job.id,
    )
