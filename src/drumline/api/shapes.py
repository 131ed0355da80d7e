"""What tasks, attempts, queues and workers look like in JSON, and how they get there."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from drumline.core.attempt import AttemptView, Progress
from drumline.core.clock import Instant, moment_of
from drumline.core.ids import session_text
from drumline.core.outcome import ErrorInfo
from drumline.core.redaction import Redaction
from drumline.core.retry import DEFAULT_BACKOFF
from drumline.core.session import SessionView, served_of
from drumline.core.state import Status
from drumline.core.task import TaskView
from drumline.core.views import (
    BackoffBody,
    ErrorBody,
    Moment,
    NotifyBody,
    ProgressBody,
    PublicExecution,
    PublicTask,
    TaskIdText,
    WorkerIdText,
    backoff_body,
    execution_fields,
    notify_body,
    show_task,
)
from drumline.ports.store import ArtifactView, QueueView


class StatusBody(Struct, frozen=True):
    """The status of a task. It may be out of date for a moment."""

    id: TaskIdText
    status: Status


class TaskBody(PublicTask[Moment], frozen=True, kw_only=True):
    """The state of a task. Times are UTC, durations seconds. `key` is its name in its job, if it belongs to one."""

    created_at: Moment
    backoff: BackoffBody
    notify: tuple[NotifyBody, ...]
    progress: ProgressBody | UnsetType | None = UNSET
    error: ErrorBody | None


class TaskList(Struct, frozen=True):
    """A page of tasks, newest first."""

    items: tuple[TaskBody, ...]
    next_cursor: str | None
    is_partial: bool = False
    """Whether a search by `filter` stopped at its bound before it had found `limit` tasks: the cursor continues it."""


class AttemptBody(PublicExecution[Moment], frozen=True, kw_only=True):
    """One execution of a task. `epoch` rises with each; `attempt` counts those that matter for retries."""

    error: ErrorBody | None


class AttemptList(Struct, frozen=True):
    """A task's executions, oldest first."""

    items: tuple[AttemptBody, ...]
    next_cursor: str | None = None


class ArtifactBody(Struct, frozen=True, kw_only=True):
    """A file that a task made."""

    name: str
    content_type: str
    size: int
    created_at: Moment


class ArtifactList(Struct, frozen=True):
    """The files that a task made."""

    items: tuple[ArtifactBody, ...]
    next_cursor: str | None = None


class QueueBody(Struct, frozen=True, kw_only=True):
    """The state of a queue."""

    name: str
    tenant: str
    pending: int
    queued: int
    processing: int
    oldest_due_at: Moment | None
    oldest_served_due_at: Moment | None
    """The same without the tasks that no live worker can run: how far behind the queue is."""
    unserved: int
    """How many queued tasks are of types that no live worker can run."""
    is_paused: bool
    reason: str | None


class QueueList(Struct, frozen=True):
    """The queues that have tasks or are paused."""

    items: tuple[QueueBody, ...]
    next_cursor: str | None = None


class WorkerBody(Struct, frozen=True, kw_only=True):
    """The state of a worker. `types` are the names of the tasks that it can run.

    `memory` and `cpu` are null where the worker does not tell them: it has not sent a heartbeat yet, its system does
    not say, or it is of an earlier version. Of a worker that left they are the last ones.
    """

    id: WorkerIdText
    host: str
    pid: int
    version: str
    app_version: Annotated[
        str,
        Meta(
            description="The applications that it runs with their versions, such as `shop 1.4.2, billing 7`; "
            "empty if not known."
        ),
    ]
    label: str
    queues: tuple[str, ...]
    types: tuple[str, ...]
    capacity: int
    held: int
    memory: Annotated[
        int | None,
        Meta(description="Bytes that its process and child processes have resident, at the last heartbeat."),
    ]
    cpu: Annotated[
        float | None,
        Meta(description="Processor time between its last two heartbeats, as a share of one core: 1.5 is 1.5 cores."),
    ]
    opened_at: Moment
    beat_at: Moment
    should_drain: bool
    closed_at: Moment | None


class WorkerList(Struct, frozen=True):
    """The workers there are."""

    items: tuple[WorkerBody, ...]
    next_cursor: str | None = None


def moment(instant: Instant | None) -> str | None:
    """Return an instant as text; nothing stays nothing."""
    return None if instant is None else moment_of(instant)


def weight_of(view: TaskView) -> int:
    """Return what it costs to show a task, as bytes of JSON."""
    return 100 + view.size


def shown(view: TaskView, hidden: Redaction) -> TaskView:
    """Return a task with what people may see of its payload."""
    if view.payload is None:
        return view
    payload = hidden.payload(view.payload)
    return view if payload is view.payload else replace(view, payload=payload)


def task_body(
    view: TaskView,
    *,
    now: Instant,
    progress: ProgressBody | UnsetType | None = UNSET,
    shard: str | UnsetType | None = UNSET,
) -> TaskBody:
    """Return a task as JSON shows it."""
    options = view.options
    return show_task(
        TaskBody,
        view,
        now=now,
        time=moment_of,
        payload=UNSET if view.payload is None else view.payload,
        backoff=_DEFAULT_BACKOFF if options.backoff is DEFAULT_BACKOFF else backoff_body(options.backoff),
        notify=tuple(notify_body(target) for target in options.notify),
        progress=progress,
        shard=shard,
        result=UNSET if view.result is None else view.result,
        error=error_body(view.error),
    )


_DEFAULT_BACKOFF = backoff_body(DEFAULT_BACKOFF)


def error_body(error: ErrorInfo | None) -> ErrorBody | None:
    """Return an error with all its parts."""
    return None if error is None else ErrorBody(error.kind, error.message, error.traceback)


def attempt_body(view: AttemptView) -> AttemptBody:
    """Return an execution as JSON shows it."""
    return AttemptBody(**execution_fields(view, moment_of), error=error_body(view.error))


def weight_of_attempt(view: AttemptView) -> int:
    """Return what it costs to show an execution, as bytes of JSON."""
    return 300 + (0 if view.error is None else view.error.size)


def artifact_body(view: ArtifactView) -> ArtifactBody:
    """Return what is known of a file as JSON shows it."""
    return ArtifactBody(
        name=view.name, content_type=view.content_type, size=view.size, created_at=moment_of(view.created_at)
    )


def queue_body(view: QueueView, workers: Sequence[SessionView]) -> QueueBody:
    """Return a queue as JSON shows it, served by the workers that live."""
    waiting = ((one.name, one.queued, one.oldest_due_at) for one in view.waiting)
    served = served_of(waiting, tenant=view.tenant, queue=view.name, workers=workers)
    return QueueBody(
        name=view.name,
        tenant=view.tenant,
        pending=view.pending,
        queued=view.queued,
        processing=view.processing,
        oldest_due_at=moment(view.oldest_due_at),
        oldest_served_due_at=moment(served.oldest_due_at),
        unserved=served.unserved,
        is_paused=view.is_paused,
        reason=view.reason,
    )


def worker_body(view: SessionView) -> WorkerBody:
    """Return a worker as JSON shows it."""
    return WorkerBody(
        id=session_text(view.id),
        host=view.spec.host,
        pid=view.spec.pid,
        version=view.spec.version,
        app_version=view.spec.app_version,
        label=view.spec.label,
        queues=view.spec.queues,
        types=view.spec.names,
        capacity=view.spec.capacity,
        held=view.held,
        memory=view.usage.memory,
        cpu=view.usage.cpu,
        opened_at=moment_of(view.opened_at),
        beat_at=moment_of(view.beat_at),
        should_drain=view.should_drain,
        closed_at=moment(view.closed_at),
    )


def progress_body(progress: Progress | None) -> ProgressBody | None:
    """Return how far an attempt is as JSON shows it."""
    if progress is None:
        return None
    return ProgressBody(done=progress.done, total=progress.total, message=progress.message)
