"""Looking at jobs."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from drumline.core.attempt import JobAttempt
from drumline.core.codec import decode
from drumline.core.errors import NotFound
from drumline.core.ids import JobId
from drumline.core.job import JobView, NodeView
from drumline.core.outcome import ErrorInfo
from drumline.core.state import State
from drumline.ports.jobs import JobFilter
from drumline.stores.attempt_rows import job_attempt
from drumline.stores.job_rows import NUMBER_OF, RUN_IFS, job_row, job_view
from drumline.stores.sqlite.access import Access, batch_of, rows_of
from drumline.stores.sqlite.statements import SQL


class QueryingJobs(Access):
    """The looking part of `ports.jobs.Jobs` on SQLite."""

    async def get_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[JobView | None]:
        """Return jobs as they stand, with their running tasks counted; None for those that do not exist."""

        def look(connection: sqlite3.Connection) -> dict[str, JobView]:
            rows = connection.execute(SQL["jobs"], {"ids": batch_of(jobs)}).fetchall()
            return {row[0]: _view(connection, row, is_counted=True) for row in rows if tenant in {None, row[1]}}

        found = await self._database.read(look)
        return [found.get(job) for job in jobs]

    async def list_jobs(self, which: JobFilter, *, limit: int, before: JobId | None = None) -> list[JobView]:
        """Return jobs, newest first, starting below `before`; their running tasks are not counted."""
        parameters = {
            "before": before, "tenant": which.tenant, "name": which.name, "owner": which.owner, "tag": which.tag,
            "schedule_id": which.schedule_id, "key": which.idempotency_key, "limit": limit,
            "statuses": batch_of([NUMBER_OF[status] for status in which.statuses]) if which.statuses else None,
        }  # fmt: skip

        def look(connection: sqlite3.Connection) -> list[JobView]:
            rows = connection.execute(SQL["list_jobs"], parameters).fetchall()
            return [_view(connection, row, is_counted=False) for row in rows]

        return await self._database.read(look)

    async def nodes(self, job: JobId, *, tenant: str | None = None) -> list[NodeView]:
        """Return the tasks of a job in the order in which they were given; raises `NotFound`."""

        def look(connection: sqlite3.Connection) -> list[NodeView]:
            _check(connection, job, tenant)
            return [_node(row) for row in rows_of(connection, "nodes", {"job": job})]

        return await self._database.read(look)

    async def job_attempts(self, job: JobId, *, limit: int, tenant: str | None = None) -> list[JobAttempt]:
        """Return up to `limit` executions of a job's tasks; raises `NotFound`."""

        def look(connection: sqlite3.Connection) -> list[JobAttempt]:
            _check(connection, job, tenant)
            rows = connection.execute(SQL["job_attempts"], {"job": job, "limit": limit})
            return [job_attempt(row) for row in rows]

        return await self._database.read(look)

    async def results(self, tasks: Sequence[tuple[JobId, str]]) -> list[Raw | None]:
        """Return what tasks of jobs, by their keys, gave back; None for one that has not completed."""
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["results"], {"batch": batch_of(tasks)}).fetchall()
        )
        found = {place: Raw((result or "null").encode()) for place, result in rows}
        return [found.get(place) for place in range(len(tasks))]


def _check(connection: sqlite3.Connection, job: JobId, tenant: str | None) -> None:
    found = connection.execute(SQL["jobs"], {"ids": batch_of([job])}).fetchone()
    if found is None or tenant not in {None, found[1]}:
        raise NotFound(f"there is no job {job}", field="id")


def _view(connection: sqlite3.Connection, values: Sequence[Any], *, is_counted: bool) -> JobView:
    row = job_row(values)
    needed = [job for (job,) in connection.execute(SQL["deps"], {"job": row.id})]
    running = None
    if is_counted:
        (running,) = (0,) if row.has_ended else connection.execute(SQL["running_in_job"], {"job": row.id}).fetchone()
    return job_view(row, depends_on=needed, running=running)


def _node(row: Sequence[Any]) -> NodeView:
    key, task, name, state, needs, run_if, due_at, attempt, started_at, finished_at, error, cause = row
    return NodeView(
        key=key, task=task, name=name, state=State(state), needs=tuple(needs), run_if=RUN_IFS[run_if], due_at=due_at,
        attempt=attempt, started_at=started_at, finished_at=finished_at,
        reason=None if error is None else decode(error, ErrorInfo).message, cause=cause,
    )  # fmt: skip
