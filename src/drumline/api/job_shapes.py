"""What jobs and their graphs look like in JSON, and how they get there."""

from msgspec import Struct, field

from drumline.api.shapes import (
    BackoffBody,
    ExecutionBody,
    Moment,
    NotifyBody,
    TaskIdText,
    backoff_body,
    execution,
    moment,
    notify_body,
)
from drumline.core.attempt import JobAttempt
from drumline.core.clock import Instant, moment_of
from drumline.core.graph import CriticalPath, critical_path
from drumline.core.job import JobCounts, JobStatus, JobView, NodeView, RunIf
from drumline.core.state import Status


class CountsBody(Struct, frozen=True, kw_only=True):
    """How many tasks of a job stand where. `running` is null in lists, where it is not counted."""

    total: int
    completed: int
    failed: int
    cancelled: int
    skipped: int
    running: int | None


class JobBody(Struct, frozen=True, kw_only=True):
    """A job as it stands. `waits_for` is the number of jobs that have to complete before it begins."""

    id: TaskIdText
    name: str
    owner: str | None
    status: JobStatus
    counts: CountsBody
    created_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    reason: str | None
    cancel_requested: bool
    depends_on: tuple[TaskIdText, ...]
    waits_for: int
    retries: int
    backoff: BackoffBody
    notify: tuple[NotifyBody, ...]
    tags: tuple[str, ...]
    idempotency_key: str | None
    schedule_id: str | None
    fire_time: Moment | None


class JobList(Struct, frozen=True):
    """A page of jobs, newest first."""

    items: tuple[JobBody, ...]
    next_cursor: str | None


class NodeBody(Struct, frozen=True, kw_only=True):
    """A task in its job's graph.

    `reason` says why it failed or was skipped, `cause` for the failure of which task. `slack` is how many seconds
    longer it could have taken without making the whole longer.
    """

    key: str
    task_id: TaskIdText
    name: str
    status: Status
    needs: tuple[str, ...]
    run_if: RunIf
    attempt: int
    started_at: Moment | None
    finished_at: Moment | None
    reason: str | None
    cause: str | None
    slack: float
    is_critical: bool


class JobAttemptBody(ExecutionBody, frozen=True, kw_only=True):
    """One execution of a task of a job; `reason` is what the error says that it ended with."""

    key: str
    task_id: TaskIdText
    reason: str | None


class JobAttemptList(Struct, frozen=True):
    """Executions of a job's tasks, the latest first; `is_more` if there were others before them."""

    items: tuple[JobAttemptBody, ...]
    is_more: bool


class EdgeBody(Struct, frozen=True):
    """One task that another needs."""

    source: str = field(name="from")
    target: str = field(name="to")


class CriticalPathBody(Struct, frozen=True):
    """The tasks in a row that took longest, and how many seconds they took together, waiting not counted."""

    keys: tuple[str, ...]
    seconds: float


class GraphBody(Struct, frozen=True, kw_only=True):
    """A job's tasks in the order in which they were given, and which needs which.

    The critical path goes by what tasks have taken so far; one that has not started has taken nothing.
    """

    id: TaskIdText
    name: str
    status: JobStatus
    nodes: tuple[NodeBody, ...]
    edges: tuple[EdgeBody, ...]
    critical_path: CriticalPathBody


def job_body(view: JobView) -> JobBody:
    """Return a job as JSON shows it."""
    options = view.options
    return JobBody(
        id=view.id,
        name=view.name,
        owner=view.owner,
        status=view.status,
        counts=counts_body(view.counts),
        created_at=moment_of(view.created_at),
        started_at=moment(view.started_at),
        finished_at=moment(view.finished_at),
        reason=view.reason,
        cancel_requested=view.cancel_requested,
        depends_on=view.depends_on,
        waits_for=view.waits_for,
        retries=options.retries,
        backoff=backoff_body(options.backoff),
        notify=tuple(notify_body(target) for target in options.notify),
        tags=options.tags,
        idempotency_key=view.idempotency_key,
        schedule_id=view.schedule_id,
        fire_time=moment(view.fire_time),
    )


def counts_body(counts: JobCounts) -> CountsBody:
    """Return a job's counts as JSON shows them."""
    return CountsBody(
        total=counts.total,
        completed=counts.completed,
        failed=counts.failed,
        cancelled=counts.cancelled,
        skipped=counts.skipped,
        running=counts.running,
    )


def graph_body(view: JobView, nodes: list[NodeView], *, now: Instant) -> GraphBody:
    """Return a job's graph as JSON shows it, with what its length hangs on."""
    path = critical_path({node.key: node.needs for node in nodes}, {node.key: _lasted(node, now) for node in nodes})
    critical = frozenset(path.keys)
    return GraphBody(
        id=view.id,
        name=view.name,
        status=view.status,
        nodes=tuple(_node_body(node, path, is_critical=node.key in critical, now=now) for node in nodes),
        edges=tuple(EdgeBody(need, node.key) for node in nodes for need in node.needs),
        critical_path=CriticalPathBody(path.keys, _seconds(path.length)),
    )


def _node_body(node: NodeView, path: CriticalPath, *, is_critical: bool, now: Instant) -> NodeBody:
    return NodeBody(
        key=node.key,
        task_id=node.task,
        name=node.name,
        status=node.status(now),
        needs=node.needs,
        run_if=node.run_if,
        attempt=node.attempt,
        started_at=moment(node.started_at),
        finished_at=moment(node.finished_at),
        reason=node.reason,
        cause=node.cause,
        slack=_seconds(path.slack[node.key]),
        is_critical=is_critical,
    )


def job_attempt_body(view: JobAttempt) -> JobAttemptBody:
    """Return an execution as JSON shows it."""
    return JobAttemptBody(**execution(view), key=view.key, task_id=view.task, reason=view.reason)


def _lasted(node: NodeView, now: Instant) -> float:
    """Return the milliseconds that a task has taken: its last attempt, up to now if it still runs."""
    if node.started_at is None:
        return 0.0
    return float(max((node.finished_at or now) - node.started_at, 0))


def _seconds(millis: float) -> float:
    return round(millis / 1000, 3)
