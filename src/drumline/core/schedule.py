"""A schedule: a rule that makes tasks or jobs at fire times.

ScheduleRequest ──core.accept_schedule──▶ NewSchedule ──store──▶ ScheduleView, RunView   (to people)

Each firing is a *run*: a task or a job of its own, unique by schedule and fire time. When a rule fires is in
`core/timetable.py`; what a firing does, when some were missed or the previous run goes on, in `core/firing.py`.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from drumline.core.clock import Instant
from drumline.core.ids import JobId, ScheduleId, TaskId
from drumline.core.job import JobRequest
from drumline.core.recurring import Misfire, Overlap, Policy
from drumline.core.task import TaskRequest
from drumline.core.timetable import Rule


class ScheduleState(StrEnum):
    """Where a schedule stands."""

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
    """What became of a run, as far as its schedule is concerned; how its task or job fares is theirs to say."""

    STARTED = "started"
    WAITING = "waiting"
    SKIPPED = "skipped"


class ScheduleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a caller asks for: exactly one of `cron`, `interval` and `run_at`, and one of `task` and `job`."""

    name: str
    cron: str | None = None
    interval: float | str | None = None
    run_at: datetime | None = None
    timezone: str = "UTC"
    task: TaskRequest | None = None
    job: JobRequest | None = None
    misfire: Misfire = Misfire.ONCE
    overlap: Overlap = Overlap.ALLOW
    start: datetime | None = None
    end: datetime | None = None
    jitter: float | str = 0.0
    max_runs: int | None = None
    paused: bool = False


class ScheduleEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to change of a schedule; what is absent stays. A rule or a target replaces the one there was."""

    name: str | UnsetType = UNSET
    cron: str | UnsetType = UNSET
    interval: float | str | UnsetType = UNSET
    run_at: datetime | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    task: TaskRequest | UnsetType = UNSET
    job: JobRequest | UnsetType = UNSET
    misfire: Misfire | UnsetType = UNSET
    overlap: Overlap | UnsetType = UNSET
    start: datetime | UnsetType | None = UNSET
    end: datetime | UnsetType | None = UNSET
    jitter: float | str | UnsetType = UNSET
    max_runs: int | UnsetType | None = UNSET


class Target(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What each firing makes: a task or a job."""

    task: TaskRequest | None = None
    job: JobRequest | None = None


class Origin(Struct, frozen=True):
    """The app that has a schedule in its code, and the module where it stands there."""

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
    policy: Policy
    target: Target
    state: ScheduleState
    turn: Turn | None = None
    origin: Origin | None = None


class ScheduleView(Struct, frozen=True, kw_only=True):
    """A schedule as it stands."""

    id: ScheduleId
    tenant: str
    name: str
    rule: Rule
    policy: Policy
    target: Target
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
