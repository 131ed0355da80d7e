"""Jobs and the tasks in their graphs as the public API shows them; see `core/views.py`."""

from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

from drumline.core.attempt import JobAttempt
from drumline.core.clock import Instant
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobCounts, JobStatus, JobView, NodeView, RunIf
from drumline.core.mapping import NodeItems
from drumline.core.retry import DEFAULT_BACKOFF, DEFAULT_RETRIES, Backoff
from drumline.core.state import Status
from drumline.core.task import NotifyTarget
from drumline.core.views import UUID_FORMAT, PublicExecution, Time, View, execution_fields


class PublicJob(View, Generic[Time], frozen=True, kw_only=True):
    """A job as the public API shows it."""

    id: Annotated[JobId, UUID_FORMAT]
    name: str
    owner: str | None = None
    status: JobStatus
    counts: JobCounts
    created_at: Time | None = None
    started_at: Time | None = None
    finished_at: Time | None = None
    reason: str | None = None
    """Why it failed, if not by its own tasks; and why it was cancelled, if anybody said."""
    cancel_requested: bool = False
    depends_on: tuple[Annotated[JobId, UUID_FORMAT], ...] = ()
    waits_for: int = 0
    """How many jobs it still waits for."""
    retries: int = DEFAULT_RETRIES
    """For those of its tasks that say nothing else; so is `backoff`."""
    backoff: Backoff = DEFAULT_BACKOFF
    notify: tuple[NotifyTarget, ...] = ()
    tags: tuple[str, ...] = ()
    idempotency_key: str | None = None
    schedule_id: str | None = None
    """The schedule that made it, if one did, and the fire time that it is for."""
    fire_time: Time | None = None


class PublicNode(View, Generic[Time], frozen=True, kw_only=True):
    """A task in its job's graph as the public API shows it."""

    key: str
    task_id: Annotated[TaskId, UUID_FORMAT]
    name: str
    status: Status
    needs: tuple[str, ...] = ()
    run_if: RunIf = RunIf.ALL_SUCCEEDED
    attempt: int = 0
    started_at: Time | None = None
    finished_at: Time | None = None
    reason: str | None = None
    """Why it failed or was skipped."""
    cause: str | None = None
    """The key of the task whose failure it was skipped for, however far up."""
    items: NodeItems | None = None
    """How far it is, if it is a map that has begun: of how many items the tasks have ended, of how many not well."""


class PublicJobAttempt(PublicExecution[Time], Generic[Time], frozen=True, kw_only=True):
    """One execution of a task of a job as the public API shows it."""

    key: str
    task_id: Annotated[TaskId, UUID_FORMAT]
    reason: str | None = None
    """What the error says that it ended with."""


JobShape = TypeVar("JobShape", bound=PublicJob[Any])
NodeShape = TypeVar("NodeShape", bound=PublicNode[Any])
AttemptShape = TypeVar("AttemptShape", bound=PublicJobAttempt[Any])


def show_job(shape: type[JobShape], view: JobView, *, time: Callable[[Instant], Any], **other: Any) -> JobShape:
    """Return a job in one of the two shapes; `time` makes its times, `other` is what the shapes hold differently."""
    return shape(
        id=view.id,
        name=view.name,
        owner=view.owner,
        status=view.status,
        created_at=time(view.created_at),
        started_at=None if view.started_at is None else time(view.started_at),
        finished_at=None if view.finished_at is None else time(view.finished_at),
        reason=view.reason,
        cancel_requested=view.cancel_requested,
        depends_on=view.depends_on,
        waits_for=view.waits_for,
        retries=view.options.retries,
        tags=view.options.tags,
        idempotency_key=view.idempotency_key,
        schedule_id=view.schedule_id,
        fire_time=None if view.fire_time is None else time(view.fire_time),
        **other,
    )


def show_node(
    shape: type[NodeShape], node: NodeView, *, now: Instant, time: Callable[[Instant], Any], **other: Any
) -> NodeShape:
    """Return a task of a job in one of the two shapes."""
    return shape(
        key=node.key,
        task_id=node.task,
        name=node.name,
        status=node.status(now),
        needs=node.needs,
        run_if=node.run_if,
        attempt=node.attempt,
        started_at=None if node.started_at is None else time(node.started_at),
        finished_at=None if node.finished_at is None else time(node.finished_at),
        reason=node.reason,
        cause=node.cause,
        items=node.items,
        **other,
    )


def show_attempt(shape: type[AttemptShape], ran: JobAttempt, *, time: Callable[[Instant], Any]) -> AttemptShape:
    """Return an execution in one of the two shapes."""
    return shape(**execution_fields(ran, time), key=ran.key, task_id=ran.task, reason=ran.reason)
