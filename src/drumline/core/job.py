"""A job: a graph of tasks with a name and an owner.

JobRequest ──core.accept_job──▶ NewJob ──store──▶ JobView, NodeView   (to people)

The tasks of a job are tasks like any other, but that each is released when those it needs have ended, in the very
transaction that ends the last of them. How results flow from parents to children: `core/references.py`.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from msgspec import Struct, field

from drumline.core.clock import Instant
from drumline.core.field_schema import (
    ONE_KEY,
    ONE_TIME,
    UUID,
    Configured,
    Schema,
    about,
    duration,
    given,
    line,
    line_schema,
)
from drumline.core.firing_policy import JobSchedule
from drumline.core.ids import JobId, TaskId
from drumline.core.mapping import NodeItems
from drumline.core.names import LONGEST_NAME, LONGEST_TAG, MOST_TAGS
from drumline.core.references import LONGEST_KEY
from drumline.core.retry import DEFAULT_BACKOFF, DEFAULT_RETRIES, RETRIES_SCHEMA, Backoff, backoff_note
from drumline.core.state import State, Status, status_of
from drumline.core.task import MOST_TARGETS, NewTask, NotifyTarget, TaskFields

MOST_JOBS_NEEDED: Final = 100


class RunIf(StrEnum):
    """When a task runs, once the tasks that it needs have ended."""

    ALL_SUCCEEDED = "all_succeeded"
    """If all of them completed. It is skipped as soon as one of them has not."""
    ALL_DONE = "all_done"
    """However they ended: to clean up."""
    ANY_FAILED = "any_failed"
    """If one of them failed, was cancelled, or was skipped because of such a one. Else it is skipped, as not needed."""


class JobStatus(StrEnum):
    """The status of a job. It has ended when every task has: FAILED if one failed, else CANCELLED if one was."""

    PENDING = "PENDING"
    """It waits for other jobs, or nothing of it has started."""
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    """A task failed, or a job that it depends on did not complete."""
    CANCELLED = "CANCELLED"


ENDED: Final = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED})


class JobTaskRequest(TaskFields, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task of a job as its caller writes it: a task's fields, and how it hangs together with the others.

    `name` is the key unless said otherwise. `command` is short for a shell task: a list is a program with its
    arguments, a text is for the shell. A `delay` counts from the task's release, and `run_at` is the earliest start.
    """

    SCHEMA: ClassVar[Schema] = {
        "allOf": [
            ONE_TIME,
            {"not": {"allOf": [given("command"), {"anyOf": [given("name"), given("payload")]}]}},
        ]
    }

    name: Annotated[str | None, line(description="What kind of task it is; its key unless said otherwise.")] = None
    command: Annotated[
        str | tuple[str, ...] | None,
        about(
            "Short for a shell task: a text for the shell, or a program with its arguments.",
            anyOf=[line_schema(LONGEST_NAME), {"type": "array", "items": line_schema(LONGEST_NAME), "minItems": 1}],
        ),
    ] = None
    needs: Annotated[
        tuple[str, ...],
        about(
            "The keys of the tasks of this job that must have ended first.",
            items=line_schema(LONGEST_KEY),
            uniqueItems=True,
        ),
    ] = ()
    run_if: Annotated[RunIf, about("When it runs, once all that it needs has ended.")] = RunIf.ALL_SUCCEEDED
    delay: Annotated[
        float | str | None, duration("Run it so much later than its release; not together with run_at.")
    ] = None
    retries: Annotated[
        int | None, about("How often to try again after a failure; the job's unless said otherwise.", **RETRIES_SCHEMA)
    ] = None


SHARED_FIELDS: Final = tuple(name for name in TaskFields.__struct_fields__ if name != "name")
"""What a task of a job has in common with any other task; copied by these names, so that none is forgotten."""


class JobRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a caller asks for, as written over HTTP, in Python or on the command line.

    `retries` and `backoff` hold for its tasks that say nothing else. With a `schedule` it is not a job yet but the
    pattern of one: each firing is a job of its own.
    """

    SCHEMA: ClassVar[Schema] = ONE_KEY

    name: Annotated[str, line(description="What the job is called; several may have the same name.")]
    owner: Annotated[str | None, line(description="Whose job it is.")] = None
    tasks: Annotated[
        dict[str, JobTaskRequest],
        about(
            "The tasks by key. What they need must be there, and there must be no cycle.",
            minProperties=1,
            maxProperties=Configured("job_tasks"),
            propertyNames=line_schema(LONGEST_KEY),
        ),
    ]
    retries: Annotated[int | None, about("For tasks that say nothing else.", **RETRIES_SCHEMA)] = None
    backoff: Annotated[Backoff | float | None, backoff_note("For tasks that say nothing else.")] = None
    notify: Annotated[
        tuple[NotifyTarget, ...],
        about(
            "Whom to tell when the job as a whole ends; its tasks have a `notify` of their own.", maxItems=MOST_TARGETS
        ),
    ] = ()
    depends_on: Annotated[
        tuple[str, ...],
        about("Jobs that must have completed before this one begins.", items=UUID, maxItems=MOST_JOBS_NEEDED),
    ] = ()
    schedule: Annotated[
        JobSchedule | None, about("Make it the pattern of a schedule: each firing is a job of its own.")
    ] = None
    idempotency_key: Annotated[
        str | None,
        line(description="Submitted twice under one key, a job is stored once; another body under it is refused."),
    ] = None
    idempotency_key_alias: Annotated[str | None, line(description="The same as idempotency_key.")] = field(
        default=None, name="idempotencyKey"
    )
    tags: Annotated[
        tuple[str, ...], about("Words to find it by.", items=line_schema(LONGEST_TAG), maxItems=MOST_TAGS)
    ] = ()


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
    elsewhere: frozenset[JobId] = frozenset()
    """Those of `depends_on` that belong to other shards."""
    slot_version: int = 0
    """The version of the entry of the map by which its database was chosen."""
    idempotency_key: str | None = None
    fingerprint: bytes | None = None
    """Digest of the request, kept with its idempotency key."""
    schedule_id: str | None = None
    """The schedule whose firing it is, if it is one, and the time it was fired for."""
    fire_time: Instant | None = None


class JobCounts(Struct, frozen=True, kw_only=True):
    """How many tasks of a job are in each state. Counts of ended tasks are always exact."""

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
    """A job in its current state, as the API shows it."""

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
    items: NodeItems | None = None
    """How far it is, if it is a map that has begun."""

    def status(self, now: Instant) -> Status:
        """Return the public status at `now`."""
        return status_of(self.state, self.due_at, now)
