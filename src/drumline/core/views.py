"""Tasks and their executions as the public API shows them: the API encodes these structs, the SDK decodes them.

The two sides differ in how they hold times: the API writes texts with milliseconds (`Time` is `str`), the SDK gives
its users `datetime`. Everything else is declared here once. How the engine sees a task is `TaskView` in `core/task.py`.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, structs

from drumline.core.attempt import AttemptOutcome, Execution, Progress
from drumline.core.clock import Instant
from drumline.core.collapse import Collapse
from drumline.core.ids import JobId, ScheduleId, TaskId, session_text
from drumline.core.outcome import ErrorInfo
from drumline.core.retry import DEFAULT_BACKOFF, Backoff
from drumline.core.state import Status
from drumline.core.task import NotifyTarget, TaskView

Time = TypeVar("Time")
"""`str` where times are written, `datetime` where they are read."""

UUID_FORMAT = Meta(extra_json_schema={"format": "uuid"})
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A time in UTC with milliseconds, such as 2026-01-02T03:04:05.678Z."""
TaskIdText = Annotated[str, UUID_FORMAT]
WorkerIdText = Annotated[str, Meta(extra_json_schema={"pattern": "^w-[0-9a-f]{16}$"})]
OutcomeWord = Annotated[str, Meta(extra_json_schema={"enum": [outcome.word for outcome in AttemptOutcome]})]


class View(Struct, frozen=True, kw_only=True):
    """Something that the API shows.

    Servers write every field but those that are `UNSET`, so the reference lists each as required. The defaults are for
    clients of an older server, which does not know the field.
    """

    IS_WRITTEN_WHOLE: ClassVar[bool] = True


class PublicTask(View, Generic[Time], frozen=True, kw_only=True):
    """A task as the public API shows it."""

    id: Annotated[TaskId, UUID_FORMAT]
    name: str
    queue: str
    status: Status
    priority: int = 0
    payload: Raw | UnsetType = UNSET
    created_at: Time | None = None
    due_at: Time | None = None
    started_at: Time | None = None
    finished_at: Time | None = None
    attempt: int = 0
    retries: int = 0
    backoff: Backoff = DEFAULT_BACKOFF
    timeout: float | None = None
    """Seconds that one attempt may take."""
    tags: tuple[str, ...] = ()
    notify: tuple[NotifyTarget, ...] = ()
    idempotency_key: str | None = None
    limit_key: str | None = None
    """As it was given; a limit may also find it in the payload."""
    expires_at: Time | None = None
    """When it is cancelled if it has not started."""
    collapse: Collapse | None = None
    """How it was submitted, if others may have collapsed into it."""
    is_waiting: bool = False
    """Whether it is a durable task that waits for a time, a signal or a person: people are shown WAITING."""
    forked_from: Annotated[TaskId, UUID_FORMAT] | None = None
    """The task whose records it began with, if it is a fork."""
    worker: WorkerIdText | None = None
    cancel_requested: bool = False
    progress: Progress | UnsetType | None = UNSET
    """The progress that the running attempt reported. Left out of lists."""
    job_id: Annotated[JobId, UUID_FORMAT] | None = None
    """The job that it belongs to, if it belongs to one, and its key there."""
    key: str | None = None
    schedule_id: Annotated[ScheduleId, UUID_FORMAT] | None = None
    fire_time: Time | None = None
    """The fire time of the schedule that made it, if one did."""
    parent_id: Annotated[TaskId, UUID_FORMAT] | None = None
    """The task that started it with `ctx.call`, `ctx.map`, `ctx.gather` or `ctx.first`, if one did."""
    shard: str | UnsetType | None = UNSET
    """The shard that holds it. Only where there are several, for keys with `shards:read`, and left out of lists."""
    result: Raw | UnsetType = UNSET
    error: ErrorInfo | None = None
    """Lists leave its traceback empty unless they are asked for it."""


class PublicExecution(View, Generic[Time], frozen=True, kw_only=True):
    """One execution of a task as the public API shows it."""

    attempt: int
    epoch: int
    """Rises with each execution of the task; `attempt` counts those that matter for retries."""
    outcome: OutcomeWord
    """`running`, `completed`, `failed`, `cancelled`, `skipped`, `retried`, `snoozed`, `parked`, `restarted`,
    `released` or `crashed`."""
    worker: WorkerIdText | None = None
    started_at: Time | None = None
    """None if it ended without having begun: a task that was skipped, or cancelled while it waited."""
    finished_at: Time | None = None


class ErrorBody(ErrorInfo, frozen=True, omit_defaults=False):
    """What went wrong in an attempt."""

    IS_WRITTEN_WHOLE: ClassVar[bool] = True


class BackoffBody(Backoff, frozen=True, kw_only=True, forbid_unknown_fields=False, omit_defaults=False):
    """How long to wait before each retry, in seconds: base, base * factor, … at most cap."""

    IS_WRITTEN_WHOLE: ClassVar[bool] = True


class NotifyBody(NotifyTarget, frozen=True, kw_only=True, forbid_unknown_fields=False, omit_defaults=False):
    """Whom to tell when the task ends, and on which outcomes."""

    IS_WRITTEN_WHOLE: ClassVar[bool] = True


class ProgressBody(Progress, frozen=True):
    """The progress that the running attempt reported; without a `total` it is not known how much there is."""

    IS_WRITTEN_WHOLE: ClassVar[bool] = True


def backoff_body(backoff: Backoff) -> BackoffBody:
    """Return a backoff with all its parts."""
    return BackoffBody(**structs.asdict(backoff))


def notify_body(target: NotifyTarget) -> NotifyBody:
    """Return a notification target with all its parts."""
    return NotifyBody(**structs.asdict(target))


Shape = TypeVar("Shape", bound=PublicTask[Any])


def show_task(
    shape: type[Shape], view: TaskView, *, now: Instant, time: Callable[[Instant], Any], **other: Any
) -> Shape:
    """Return a task in one of the two shapes; `time` makes its times, `other` is what the shapes hold differently."""

    def when(instant: Instant | None) -> Any:
        return None if instant is None else time(instant)

    options = view.options
    return shape(
        id=view.id,
        name=view.lane.name,
        queue=view.lane.queue,
        status=view.status(now),
        priority=view.lane.priority,
        created_at=time(view.created_at),
        due_at=when(view.due_at),
        started_at=when(view.started_at),
        finished_at=when(view.finished_at),
        attempt=view.attempt,
        retries=options.retries,
        timeout=None if options.timeout_ms is None else options.timeout_ms / 1000,
        tags=options.tags,
        idempotency_key=view.idempotency_key,
        limit_key=options.limit_key,
        expires_at=when(options.expires_at),
        collapse=options.collapse,
        is_waiting=view.is_waiting(now),
        forked_from=options.forked_from,
        worker=None if view.worker is None else session_text(view.worker),
        cancel_requested=view.cancel_requested,
        job_id=options.job,
        parent_id=options.parent,
        key=options.key,
        schedule_id=options.schedule,
        fire_time=when(options.fire_time),
        **other,
    )


def execution_fields(ran: Execution, time: Callable[[Instant], Any]) -> dict[str, Any]:
    """Return the fields of a `PublicExecution`, for the shapes that add their own."""
    return {
        "attempt": ran.attempt,
        "epoch": ran.epoch,
        "outcome": ran.outcome.word,
        "worker": None if ran.worker is None else session_text(ran.worker),
        "started_at": None if ran.started_at is None else time(ran.started_at),
        "finished_at": None if ran.finished_at is None else time(ran.finished_at),
    }
