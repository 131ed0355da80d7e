"""Jobs: reading them, their tasks and their executions, with all else that can be done with jobs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.attempt import AttemptOutcome, JobAttempt
from drumline.core.codec import decode
from drumline.core.errors import Invalid, NotFound
from drumline.core.ids import JobId, TaskId, id_above
from drumline.core.job import JobView, NodeView
from drumline.core.mapping import ITEMS_KEY, MAP, NodeItems
from drumline.core.outcome import ErrorInfo
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.jobs import JobFilter
from drumline.stores.driver import ABOVE_ALL, BELOW_ALL, Line
from drumline.stores.job_rows import NUMBER_OF, RUN_IFS, JobRow, job_row, job_view
from drumline.stores.parts.control_jobs import JobControl
from drumline.stores.parts.submit_jobs import JobSubmission


class Jobs(JobSubmission, JobControl):
    """`ports.jobs.Jobs`, but for storing the tasks of new ones, which each store does in its own way."""

    async def get_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[JobView | None]:
        """Return jobs as they are now, with their running tasks counted; None for those that do not exist."""
        found_rows = await self._database.fetch(Line.REQUEST, "jobs", repeat=True, within=tenant, ids=list(jobs))
        rows = [job_row(row) for row in found_rows]
        living = [row.id for row in rows if not row.has_ended]
        running: dict[str, int] = {}
        if living:
            counted = await self._database.fetch(
                Line.REQUEST, "running_in_jobs", repeat=True, within=tenant, ids=living
            )
            running = {str(job): count for job, count in counted}
        needed = await self._deps(rows, tenant)
        found = {
            row.id: job_view(row, depends_on=needed[row.id], running=running.get(row.id, 0))
            for row in rows
            if tenant in {None, row.tenant}
        }
        return [found.get(job) for job in jobs]

    async def list_jobs(self, which: JobFilter, *, limit: int, before: JobId | None = None) -> list[JobView]:
        """Return jobs, newest first, starting below `before`; their running tasks are not counted."""
        start = before or JobId(ABOVE_ALL)
        # Ids are in the order of their time, so a stretch of time is a stretch of ids.
        if which.until is not None:
            start = min(start, JobId(id_above(which.until - 1)))
        found = await self._database.fetch(
            Line.BROAD,
            "list_jobs",
            repeat=True,
            within=which.tenant,
            first=BELOW_ALL if which.since is None else id_above(which.since - 1),
            before=start,
            tenant=which.tenant,
            name=which.name,
            owner=which.owner,
            schedule_id=which.schedule_id,
            key=which.idempotency_key,
            tag=which.tag,
            statuses=[NUMBER_OF[status] for status in which.statuses] or None,
            limit=limit,
        )
        rows = [job_row(row) for row in found]
        needed = await self._deps(rows, which.tenant)
        return [job_view(row, depends_on=needed[row.id]) for row in rows]

    async def nodes(self, job: JobId, *, tenant: str | None = None) -> list[NodeView]:
        """Return the tasks of a job in the order in which they were given; raises `NotFound`."""
        await self._check_job(job, tenant)
        rows = await self._database.fetch(Line.REQUEST, "nodes", repeat=True, within=tenant, job=job)
        lanes = await self._lanes.lanes({row[2] for row in rows})
        nodes = [_node(row, lanes[row[2]]) for row in rows]
        maps = [node.task for node in nodes if node.name == MAP and node.started_at is not None]
        if not maps:
            return nodes
        counted = await self._database.fetch(
            Line.REQUEST, "node_items", repeat=True, within=tenant, ids=maps, key=ITEMS_KEY
        )
        items = {str(task): _items(*counts) for task, *counts in counted}
        return [replace(node, items=items.get(node.task)) for node in nodes]

    async def job_attempts(self, job: JobId, *, limit: int, tenant: str | None = None) -> list[JobAttempt]:
        """Return up to `limit` executions of a job's tasks; raises `NotFound`."""
        await self._check_job(job, tenant)
        rows = await self._database.fetch(
            Line.REQUEST, "job_attempts", repeat=True, within=tenant, job=job, limit=limit
        )
        return [_job_attempt(row) for row in rows]

    async def results(self, tasks: Sequence[tuple[JobId, str]]) -> list[Raw | None]:
        """Return what tasks of jobs, by their keys, gave back; None for one that has not completed."""
        rows = await self._database.fetch(
            Line.CLAIM, "results", repeat=True, jobs=[job for job, _ in tasks], keys=[key for _, key in tasks]
        )
        found = {(str(job), key): Raw(result or b"null") for job, key, result in rows}
        return [found.get(task) for task in tasks]

    async def _check_job(self, job: JobId, tenant: str | None) -> None:
        rows = await self._database.fetch(Line.REQUEST, "jobs", repeat=True, within=tenant, ids=[job])
        if not rows or tenant not in {None, job_row(rows[0]).tenant}:
            raise NotFound(f"there is no job {job}", field="id")

    async def _deps(self, rows: Sequence[JobRow], tenant: str | None) -> dict[str, list[object]]:
        needed: defaultdict[str, list[object]] = defaultdict(list)
        if rows:
            ids = [row.id for row in rows]
            for job, other in await self._database.fetch(Line.REQUEST, "deps", repeat=True, within=tenant, ids=ids):
                needed[str(job)].append(other)
        return needed


def _node(row: Iterable[Any], lane: Lane) -> NodeView:
    key, task, _, state, needs, run_if, due_at, attempt, started_at, finished_at, error, cause = row
    return NodeView(
        key=key, task=TaskId(str(task)), name=lane.name, state=State(state), needs=tuple(needs),
        run_if=RUN_IFS[run_if], due_at=due_at, attempt=attempt, started_at=started_at, finished_at=finished_at,
        reason=None if error is None else decode(error, ErrorInfo).message, cause=cause,
    )  # fmt: skip


def _items(noted: str | bytes | None, started: int, ended: int, failed: int) -> NodeItems:
    """Return how far a map is; its first attempt notes how many items there are before it starts their tasks."""
    try:
        total = 0 if noted is None else decode(noted, int)
    except Invalid:  # an app's own task of that name, which records what it likes
        total = 0
    return NodeItems(total=max(total, started), ended=ended, failed=failed)


def _job_attempt(row: Iterable[Any]) -> JobAttempt:
    """Return an execution of a task of a job from its row; the order is that of `job_attempts`."""
    key, task, epoch, attempt, outcome, session, started_at, finished_at, error = row
    return JobAttempt(
        key=key, task=TaskId(str(task)), epoch=epoch, attempt=attempt, outcome=AttemptOutcome(outcome), worker=session,
        started_at=started_at, finished_at=finished_at,
        reason=None if error is None else decode(error, ErrorInfo).message,
    )  # fmt: skip
