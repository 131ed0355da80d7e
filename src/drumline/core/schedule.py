"""A schedule: a rule that makes tasks or jobs at fire times.

ScheduleRequest ──core.accept_schedule──▶ NewSchedule ──store──▶ ScheduleView, RunView   (to people)

Each firing is a *run*: a task or a job of its own, unique by schedule and fire time. When a rule fires is in
`core/timetable.py`; what a firing does, when some were missed or the previous run goes on, in `core/firing.py`.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Struct, UnsetType

from drumline.core.clock import Instant
from drumline.core.field_schema import Schema, about, given
from drumline.core.firing_policy import (
    CRON,
    END,
    FIRE_ONCE,
    INTERVAL,
    JITTER,
    MAX_RUNS,
    MISFIRE,
    ONE_RULE,
    OVERLAP,
    PAUSED,
    SCHEDULE_NAME,
    START,
    TIMEZONE,
    FiringPolicy,
    Misfire,
    Overlap,
)
from drumline.core.ids import JobId, ScheduleId, TaskId
from drumline.core.job import JobRequest
from drumline.core.task import TaskRequest
from drumline.core.timetable import Rule

_TASK: Final = about("What each firing submits.")
_JOB: Final = about("The job that each firing submits.")


class ScheduleState(StrEnum):
    """The state of a schedule."""

    ACTIVE = "active"
    PAUSED = "paused"
    FINISHED = "finished"
    """It has no fire time left."""


class RunKind(StrEnum):
    """Why there is a run."""

    SCHEDULED = "scheduled"
    MISFIRE = "misfire"
    """It was missed, and made up for."""
    TRIGGER = "trigger"
    """A person asked for it."""
    BACKFILL = "backfill"


class RunState(StrEnum):
    """The state of a run of a schedule; the task or job that it made has a state of its own."""

    STARTED = "started"
    WAITING = "waiting"
    SKIPPED = "skipped"


class ScheduleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a caller asks for: exactly one of `cron`, `interval` and `run_at`, and one of `task` and `job`."""

    SCHEMA: ClassVar[Schema] = {"allOf": [{"oneOf": ONE_RULE}, {"oneOf": [given("task"), given("job")]}]}

    name: Annotated[str, SCHEDULE_NAME]
    cron: Annotated[str | None, CRON] = None
    interval: Annotated[float | str | None, INTERVAL] = None
    run_at: Annotated[datetime | None, FIRE_ONCE] = None
    timezone: Annotated[str, TIMEZONE] = "UTC"
    task: Annotated[TaskRequest | None, _TASK] = None
    job: Annotated[JobRequest | None, _JOB] = None
    misfire: Annotated[Misfire, MISFIRE] = Misfire.ONCE
    overlap: Annotated[Overlap, OVERLAP] = Overlap.ALLOW
    start: Annotated[datetime | None, START] = None
    end: Annotated[datetime | None, END] = None
    jitter: Annotated[float | str, JITTER] = 0.0
    max_runs: Annotated[int | None, MAX_RUNS] = None
    paused: Annotated[bool, PAUSED] = False


class ScheduleEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changes to a schedule; absent fields stay. A rule or a target replaces the whole old one."""

    SCHEMA: ClassVar[Schema] = {
        "allOf": [
            {
                "not": {
                    "anyOf": [
                        {"required": ["cron", "interval"]},
                        {"required": ["run_at"], "anyOf": [{"required": ["cron"]}, {"required": ["interval"]}]},
                    ]
                }
            },
            {"not": {"required": ["task", "job"]}},
        ]
    }

    name: Annotated[str | UnsetType, SCHEDULE_NAME] = UNSET
    cron: Annotated[str | UnsetType, CRON] = UNSET
    interval: Annotated[float | str | UnsetType, INTERVAL] = UNSET
    run_at: Annotated[datetime | UnsetType, FIRE_ONCE] = UNSET
    timezone: Annotated[str | UnsetType, TIMEZONE] = UNSET
    task: Annotated[TaskRequest | UnsetType, _TASK] = UNSET
    job: Annotated[JobRequest | UnsetType, _JOB] = UNSET
    misfire: Annotated[Misfire | UnsetType, MISFIRE] = UNSET
    overlap: Annotated[Overlap | UnsetType, OVERLAP] = UNSET
    start: Annotated[datetime | UnsetType | None, START] = UNSET
    end: Annotated[datetime | UnsetType | None, END] = UNSET
    jitter: Annotated[float | str | UnsetType, JITTER] = UNSET
    max_runs: Annotated[int | UnsetType | None, MAX_RUNS] = UNSET


class ScheduleTarget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What each firing makes: a task or a job."""

    task: TaskRequest | None = None
    job: JobRequest | None = None


class Origin(Struct, frozen=True):
    """The app and the module that declare a schedule."""

    app: str
    module: str


class Turn(Struct, frozen=True):
    """The next firing: the time it is for, and the moment at which it takes place."""

    fire_at: Instant
    due_at: Instant


class NewSchedule(Struct, frozen=True, kw_only=True):
    """A validated schedule on its way into the store."""

    id: ScheduleId
    tenant: str
    name: str
    rule: Rule
    policy: FiringPolicy
    target: ScheduleTarget
    state: ScheduleState
    turn: Turn | None = None
    origin: Origin | None = None
    slot_version: int = 0
    """The version of the entry of the map by which its database was chosen."""


class ScheduleView(Struct, frozen=True, kw_only=True):
    """A schedule in its current state."""

    id: ScheduleId
    tenant: str
    name: str
    rule: Rule
    policy: FiringPolicy
    target: ScheduleTarget
    state: ScheduleState
    turn: Turn | None
    version: int
    """Rises with every change that is not a firing."""
    created_at: Instant
    changed_at: Instant
    origin: Origin | None = None
    reason: str | None = None
    """Why it is paused, if anybody said."""
    runs: int = 0
    """How many runs it was good for, triggered ones and backfills not counted."""
    skipped: int = 0
    """How many firings did not take place because the previous run had not ended."""
    missed: int = 0
    """How many were due while no scheduler was there, and not made up for."""
    waiting: int = 0
    """How many runs wait for the one before them."""
    last_fire_time: Instant | None = None
    last_task: TaskId | None = None
    last_job: JobId | None = None


class RunView(Struct, frozen=True, kw_only=True):
    """One firing of a schedule."""

    schedule: ScheduleId
    fire_time: Instant
    kind: RunKind
    state: RunState
    created_at: Instant
    start_at: Instant | None = None
    """When a waiting run of a backfill starts."""
    task: TaskId | None = None
    job: JobId | None = None
    reason: str | None = None
    """Why it was skipped."""
