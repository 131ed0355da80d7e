"""What jobs and their graphs look like in JSON, and how they get there."""

from typing import ClassVar

from msgspec import Struct, field, structs

from drumline.core.attempt import JobAttempt
from drumline.core.clock import Instant, moment_of
from drumline.core.graph import CriticalPath, critical_path
from drumline.core.job import JobCounts, JobStatus, JobView, NodeView
from drumline.core.job_views import PublicJob, PublicJobAttempt, PublicNode, show_attempt, show_job, show_node
from drumline.core.views import BackoffBody, Moment, NotifyBody, TaskIdText, backoff_body, notify_body


class CountsBody(JobCounts, frozen=True, kw_only=True):
    """How many tasks of a job have each status. `running` is null in lists, where it is not counted."""

    IS_WRITTEN_WHOLE: ClassVar[bool] = True


class JobBody(PublicJob[Moment], frozen=True, kw_only=True):
    """The state of a job. `waits_for` is the number of jobs that have to complete before it begins."""

    counts: CountsBody
    created_at: Moment
    backoff: BackoffBody
    notify: tuple[NotifyBody, ...]


class JobList(Struct, frozen=True):
    """A page of jobs, newest first."""

    items: tuple[JobBody, ...]
    next_cursor: str | None
    is_partial: bool = False
    """Whether a search by `filter` stopped at its bound before it had found `limit` jobs: the cursor continues it."""


class NodeBody(PublicNode[Moment], frozen=True, kw_only=True):
    """A task in its job's graph.

    `reason` says why it failed or was skipped, `cause` for the failure of which task. `slack` is how many seconds
    longer it could have taken without making the whole longer.
    """

    slack: float
    is_critical: bool


class JobAttemptBody(PublicJobAttempt[Moment], frozen=True, kw_only=True):
    """One execution of a task of a job; `reason` is what the error says that it ended with."""


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
    return show_job(
        JobBody,
        view,
        time=moment_of,
        counts=CountsBody(**structs.asdict(view.counts)),
        backoff=backoff_body(options.backoff),
        notify=tuple(notify_body(target) for target in options.notify),
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
    slack = _seconds(path.slack[node.key])
    return show_node(NodeBody, node, now=now, time=moment_of, slack=slack, is_critical=is_critical)


def job_attempt_body(view: JobAttempt) -> JobAttemptBody:
    """Return an execution as JSON shows it."""
    return show_attempt(JobAttemptBody, view, time=moment_of)


def _lasted(node: NodeView, now: Instant) -> float:
    """Return the milliseconds that a task has taken: its last attempt, up to now if it still runs."""
    if node.started_at is None:
        return 0.0
    return float(max((node.finished_at or now) - node.started_at, 0))


def _seconds(millis: float) -> float:
    return round(millis / 1000, 3)
