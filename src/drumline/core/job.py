"""A job: a graph of tasks with a name and an owner.

JobRequest ──core.accept_job──▶ NewJob ──store──▶ JobView, NodeView   (to people)

The tasks of a job are tasks like any other, but that each is released when those it needs have ended, in the very
transaction that ends the last of them. How results flow from parents to children: `core/references.py`.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Raw, Struct, field

from drumline.core.clock import Instant
from drumline.core.ids import JobId, TaskId
from drumline.core.recurring import JobSchedule
from drumline.core.retry import DEFAULT_BACKOFF, DEFAULT_RETRIES, Backoff
from drumline.core.state import State, Status, status_of
from drumline.core.task import EMPTY_PAYLOAD, NewTask, NotifyTarget, TaskRequest


class RunIf(StrEnum):
    """When a task runs, once the tasks that it needs have ended."""

    ALL_SUCCEEDED = "all_succeeded"
    """If all of them completed. It is skipped as soon as one of them has not."""
    ALL_DONE = "all_done"
    """However they ended: to clean up."""
    ANY_FAILED = "any_failed"
    """If one of them failed, was cancelled, or was skipped because of such a one. Else it is skipped, as not needed."""


class JobStatus(StrEnum):
    """Where a job stands. It has ended when every task has: FAILED if one failed, else CANCELLED if one was."""

    PENDING = "PENDING"
    """It waits for other jobs, or nothing of it has started."""
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    """A task failed, or a job that it depends on did not complete."""
    CANCELLED = "CANCELLED"


ENDED: Final = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED})


class JobTaskRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task of a job as its caller writes it: a task's fields, and how it hangs together with the others.

    `name` is the key unless said otherwise. `command` is short for a shell task: a list is a program with its
    arguments, a text is for the shell. A `delay` counts from the task's release, and `run_at` is the earliest start.
    """

    name: str | None = None
    command: str | tuple[str, ...] | None = None
    needs: tuple[str, ...] = ()
    run_if: RunIf = RunIf.ALL_SUCCEEDED
    payload: Raw = EMPTY_PAYLOAD
    queue: str | None = None
    priority: int | str | None = None
    delay: float | str | None = None
    run_at: datetime | None = None
    retries: int | None = None
    backoff: Backoff | float | None = None
    timeout: float | str | None = None
    tags: tuple[str, ...] | None = None
    notify: tuple[NotifyTarget, ...] | None = None
    limit_key: str | None = None


SHARED_FIELDS: Final = tuple(
    name for name in JobTaskRequest.__struct_fields__ if name in set(TaskRequest.__struct_fields__) - {"name"}
)
"""What a task of a job has in common with any other task; copied by these names, so that none is forgotten."""


class JobRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a caller asks for, as written over HTTP, in Python or on the command line.

    `retries` and `backoff` hold for its tasks that say nothing else. With a `schedule` it is not a job yet but the
    pattern of one: each firing is a job of its own.
    """

    name: str
    owner: str | None = None
    tasks: dict[str, JobTaskRequest]
    retries: int | None = None
    backoff: Backoff | float | None = None
    notify: tuple[NotifyTarget, ...] = ()
    depends_on: tuple[str, ...] = ()
    schedule: JobSchedule | None = None
    idempotency_key: str | None = None
    idempotency_key_alias: str | None = field(default=None, name="idempotencyKey")
    tags: tuple[str, ...] = ()


class JobOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is shown of a job, and used when it ends; stored as one JSON text."""

    retries: int = DEFAULT_RETRIES
    backoff: Backoff = DEFAULT_BACKOFF
    notify: tuple[NotifyTarget, ...] = ()
    tags: tuple[str, ...] = ()


DEFAULT_JOB_OPTIONS: Final = JobOptions()


class NewJobTask(Struct, frozen=True, kw_only=True):
    """A validated task of a job; `needs` are tasks of the same job."""

    task: NewTask
    key: str
    needs: tuple[TaskId, ...] = ()
    run_if: RunIf = RunIf.ALL_SUCCEEDED


class NewJob(Struct, frozen=True, kw_only=True):
    """A validated job on its way into the store."""

    id: JobId
    tenant: str
    name: str
    owner: str | None
    tasks: tuple[NewJobTask, ...]
    options: JobOptions = DEFAULT_JOB_OPTIONS
    depends_on: tuple[JobId, ...] = ()
    idempotency_key: str | None = None
    fingerprint: bytes | None = None
    """Digest of the request, kept with its idempotency key."""
    schedule_id: str | None = None
    """The schedule whose firing it is, if it is one, and the time it was fired for."""
    fire_time: Instant | None = None


class JobCounts(Struct, frozen=True, kw_only=True):
    """How many tasks of a job stand where. The ends are exact at every moment."""

    total: int
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    running: int | None = None
    """None where it was not counted: in lists."""

    @property
    def ended(self) -> int:
        """How many tasks have ended."""
        return self.completed + self.failed + self.cancelled + self.skipped


class JobView(Struct, frozen=True, kw_only=True):
    """A job as it stands, for people."""

    id: JobId
    tenant: str
    name: str
    owner: str | None
    status: JobStatus
    counts: JobCounts
    created_at: Instant
    started_at: Instant | None = None
    finished_at: Instant | None = None
    reason: str | None = None
    """Why it failed, if not by its own tasks; and why it was cancelled, if anybody said."""
    cancel_requested: bool = False
    depends_on: tuple[JobId, ...] = ()
    waits_for: int = 0
    """How many jobs it still waits for."""
    options: JobOptions = DEFAULT_JOB_OPTIONS
    idempotency_key: str | None = None
    schedule_id: str | None = None
    fire_time: Instant | None = None


class NodeView(Struct, frozen=True, kw_only=True):
    """A task in its job's graph, for people."""

    key: str
    task: TaskId
    name: str
    state: State
    needs: tuple[str, ...]
    run_if: RunIf
    due_at: Instant | None = None
    attempt: int = 0
    started_at: Instant | None = None
    finished_at: Instant | None = None
    reason: str | None = None
    """Why it failed or was skipped."""
    cause: str | None = None
    """The key of the task whose failure it was skipped for, however far up."""

    def status(self, now: Instant) -> Status:
        """Return the public status at `now`."""
        return status_of(self.state, self.due_at, now)
