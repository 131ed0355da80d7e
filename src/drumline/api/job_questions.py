"""Questions about jobs: why one has not ended, and how the last runs of the same one went."""

from typing import Annotated

from msgspec import Meta, Struct

from drumline.aio.threads import off_loop
from drumline.api.job_shapes import JobBody, job_body
from drumline.api.jobs import NODE_BYTES, job_of
from drumline.api.operation import ApiCall, NoQuery, Operation, Reply, Tag
from drumline.api.shapes import moment
from drumline.api.task_queries import ReasonBody, reason_bodies
from drumline.core.access import Permission
from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.field_schema import UUID, about, line
from drumline.core.ids import parse_schedule_id
from drumline.core.job import JobStatus, JobView, NodeView
from drumline.core.names import check_name
from drumline.core.state import Status
from drumline.core.views import Moment, TaskIdText
from drumline.engine.job_wait_reasons import HoldingTask
from drumline.ports.jobs import JobFilter

MOST_RUNS = 25
MOST_ROWS = 200
"""Tasks of each run that a grid has."""
MOST_CELLS = 5_000
"""Tasks of all runs that are read for a grid: of larger jobs fewer runs have their tasks in it."""


class HoldingTaskBody(Struct, frozen=True, kw_only=True):
    """A task that a job waits for; `blocks` others of the job cannot start before it ends."""

    key: str
    task_id: TaskIdText
    name: str
    status: Status
    attempt: int
    started_at: Moment | None
    blocks: int
    reasons: tuple[ReasonBody, ...]


class JobWhyBody(Struct, frozen=True, kw_only=True):
    """Why a job has not ended: what is true of the job itself, and the tasks that the others wait for.

    `running`, `queued` and `blocked` count all of its tasks; `is_more` says that not all that it waits for are listed.
    """

    job_id: TaskIdText
    status: JobStatus
    reasons: tuple[ReasonBody, ...]
    tasks: tuple[HoldingTaskBody, ...]
    running: int
    queued: int
    blocked: int
    is_more: bool


class JobRunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Of which jobs: those of a schedule, or those with a name; what is absent does not narrow."""

    name: Annotated[str | None, line()] = None
    schedule_id: Annotated[str | None, about(**UUID)] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = MOST_RUNS


class RunTaskBody(Struct, frozen=True, kw_only=True):
    """How a task went in one run of a job."""

    task_id: TaskIdText
    status: Status
    attempt: int
    started_at: Moment | None
    finished_at: Moment | None


class RunRowBody(Struct, frozen=True, kw_only=True):
    """A task that some of the runs have."""

    key: str
    name: str


class JobRunBody(Struct, frozen=True, kw_only=True):
    """One run of a job, with its tasks by key; null if they are too many to be read."""

    job: JobBody
    tasks: dict[str, RunTaskBody] | None


class JobRunsBody(Struct, frozen=True, kw_only=True):
    """The last runs of a job, the latest first, and the tasks that they have, in the order of the latest run.

    `is_cut` says that some tasks are left out, because there are too many.
    """

    rows: tuple[RunRowBody, ...]
    runs: tuple[JobRunBody, ...]
    is_cut: bool


async def job_why(call: ApiCall[None, NoQuery]) -> Reply:
    """Return why a job has not ended: which tasks it waits for, and why those are not done."""
    found = await call.engine.job_wait_reasons.why(job_of(call), tenant=call.tenant)
    now = call.engine.clock.now()
    body = JobWhyBody(
        job_id=found.job.id,
        status=found.job.status,
        reasons=reason_bodies(found.reasons),
        tasks=tuple(_holding(task, now) for task in found.tasks),
        running=found.running,
        queued=found.queued,
        blocked=found.blocked,
        is_more=found.is_more,
    )
    return Reply(encode(body))


def _holding(task: HoldingTask, now: Instant) -> HoldingTaskBody:
    node = task.node
    return HoldingTaskBody(
        key=node.key,
        task_id=node.task,
        name=node.name,
        status=node.status(now),
        attempt=node.attempt,
        started_at=moment(node.started_at),
        blocks=task.blocks,
        reasons=reason_bodies(task.reasons),
    )


async def job_runs(call: ApiCall[None, JobRunsQuery]) -> Reply:
    """Return the last runs of a job with their tasks, for a grid of runs and tasks."""
    query = call.query
    which = JobFilter(
        tenant=call.tenant,
        name=None if query.name is None else check_name(query.name),
        schedule_id=None if query.schedule_id is None else parse_schedule_id(query.schedule_id, field="schedule_id"),
    )
    page = await call.engine.jobs.list_jobs(which, limit=query.limit)
    runs: list[tuple[JobView, list[NodeView] | None]] = []
    left = MOST_CELLS
    for view in page.items:
        left -= view.counts.total
        nodes = await call.engine.jobs.nodes(view.id, tenant=call.tenant) if left >= 0 else None
        runs.append((view, nodes))
    now = call.engine.clock.now()
    weight = NODE_BYTES * sum(len(nodes or ()) for _, nodes in runs)
    return Reply(await off_loop(weight, lambda: encode(_runs_body(runs, now))))


def _runs_body(runs: list[tuple[JobView, list[NodeView] | None]], now: Instant) -> JobRunsBody:
    names: dict[str, str] = {}
    for _, nodes in runs:
        for node in nodes or ():
            names.setdefault(node.key, node.name)
    keys = frozenset(list(names)[:MOST_ROWS])
    return JobRunsBody(
        rows=tuple(RunRowBody(key=key, name=name) for key, name in names.items() if key in keys),
        runs=tuple(
            JobRunBody(
                job=job_body(view),
                tasks=None if nodes is None else {node.key: _cell(node, now) for node in nodes if node.key in keys},
            )
            for view, nodes in runs
        ),
        is_cut=len(names) > len(keys) or any(nodes is None for _, nodes in runs),
    )


def _cell(node: NodeView, now: Instant) -> RunTaskBody:
    return RunTaskBody(
        task_id=node.task,
        status=node.status(now),
        attempt=node.attempt,
        started_at=moment(node.started_at),
        finished_at=moment(node.finished_at),
    )


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/jobs/{id}/why", handler=job_why, merges=True, tag=Tag.JOBS,
        summary="Tell why a job has not ended", answer=JobWhyBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/jobs/runs", handler=job_runs, merges=True, tag=Tag.JOBS,
        summary="List the last runs of a job with their tasks", query=JobRunsQuery, answer=JobRunsBody,
        permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
