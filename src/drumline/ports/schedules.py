"""Schedules, as the store keeps them: part of the store, with its general promises (`ports/store.py`).

Every fire time of a schedule gives at most one run, whoever fires: the schedule's row is locked, and the run's key is
(schedule, fire time). A run, its task or job, and the schedule's next fire time are one transaction.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, Moved, NotFound
from drumline.core.firing import Absence
from drumline.core.firing_policy import FiringPolicy
from drumline.core.ids import IdSource, ScheduleId, TaskId
from drumline.core.job import JobStatus, NewJob
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.retry import DEFAULT_RETRY, RetryDefaults
from drumline.core.schedule import (
    NewSchedule,
    Origin,
    RunKind,
    RunView,
    ScheduleState,
    ScheduleTarget,
    ScheduleView,
    Turn,
)
from drumline.core.task import NewTask
from drumline.core.timetable import Rule
from drumline.ports.hint import NO_EFFECTS, Effects


class ScheduleFilter(Struct, frozen=True, kw_only=True):
    """Which schedules to list; what is None does not narrow."""

    tenant: str | None = None
    name: str | None = None
    state: ScheduleState | None = None
    app: str | None = None


class Definition(Struct, frozen=True, kw_only=True):
    """What a schedule is, apart from its state."""

    name: str
    rule: Rule
    policy: FiringPolicy
    target: ScheduleTarget
    origin: Origin | None = None


class Placing(Struct, frozen=True, kw_only=True):
    """Where a schedule is to stand."""

    state: ScheduleState
    turn: Turn | None = None
    reason: str | None = None


class ScheduleChange(Struct, frozen=True, kw_only=True):
    """A change of a schedule that is still at `version`; what is None stays as it is."""

    id: ScheduleId
    version: int
    word: str
    """What was done, for the events: edited, paused, resumed."""
    definition: Definition | None = None
    placing: Placing | None = None
    name_version: int | None = None
    """If the name changes: the version of the entry of the map for the slot of the new one."""


class NewRun(Struct, frozen=True, kw_only=True):
    """A run that was asked for: at once, or waiting until `start_at`."""

    fire_time: Instant
    kind: RunKind
    start_at: Instant | None = None


class FireOrder(Struct, frozen=True, kw_only=True):
    """How to fire: at most so many schedules in one transaction, and what to take for missed."""

    limit: int
    ids: IdSource
    """Makes the ids of tasks and jobs; `Firing` may narrow the slots in which it does."""
    absence: Absence | None = None
    limits: Limits = DEFAULT_LIMITS
    retry: RetryDefaults = DEFAULT_RETRY


class Fired(Struct, frozen=True, kw_only=True):
    """What firing or starting runs did. It is committed."""

    schedules: int = 0
    """How many schedules, or waiting runs, were dealt with."""
    has_more: bool = False
    """Whether there may be more at once."""
    runs: tuple[RunView, ...] = ()
    missed: int = 0
    tasks: tuple[tuple[NewTask, Instant], ...] = ()
    """The tasks that were made, and when each is due."""
    jobs: tuple[tuple[NewJob, JobStatus], ...] = ()
    """The jobs that were made, and where each stands."""
    cancelled: tuple[TaskId, ...] = ()
    """Previous tasks that were waiting, and ended because of it."""
    effects: Effects = NO_EFFECTS
    """What jobs that were made, or cancelled, led to."""


class Watch(Struct, frozen=True, kw_only=True):
    """What a scheduler has to know before it fires."""

    now: Instant
    seen_at: Instant | None
    """When a scheduler last noted that it is running; None if there never was one."""
    words: int
    """How many such notes there have been."""
    next_due: Instant | None
    """When the next firing is due."""
    next_start: Instant | None
    """When the next run of a backfill is."""
    has_waiting: bool
    """Whether some run waits for the one before it to end."""


class Schedules(Protocol):
    """Schedules, and the runs that they have had. A `tenant` of None means every tenant's."""

    async def add_schedules(self, schedules: Sequence[NewSchedule]) -> list[ScheduleView | Conflict | Moved]:
        """Store schedules. A name that its tenant has given already is a `Conflict`, unless it is the very same one.

        One whose slot is not open here, by the entry that it names, is answered by `Moved` unless it is stored already.
        """
        ...

    async def get_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | None]:
        """Return schedules as they stand; None for those that do not exist."""
        ...

    async def list_schedules(
        self, which: ScheduleFilter, *, limit: int, before: ScheduleId | None = None
    ) -> list[ScheduleView]:
        """Return schedules, newest first, starting below `before`."""
        ...

    async def change_schedules(
        self, changes: Sequence[ScheduleChange], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound | Conflict]:
        """Change schedules. One that is not at the version given any more is a `Conflict`, as is a name taken.

        So is a name whose slot is not open here: two schedules of one name have to meet in one database.
        """
        ...

    async def delete_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound]:
        """Delete schedules with the notes of their runs, and return them as they last stood; tasks and jobs stay."""
        ...

    async def drop_runs(self, schedule: ScheduleId, *, kind: RunKind) -> int:
        """Forget the runs of a kind that have not started, and return how many there were."""
        ...

    async def list_runs(
        self, schedule: ScheduleId, *, limit: int, before: Instant | None = None, tenant: str | None = None
    ) -> list[RunView]:
        """Return the runs of a schedule, latest fire time first, starting below `before`."""
        ...

    async def fire_times(self, schedule: ScheduleId, *, after: Instant, until: Instant) -> frozenset[Instant]:
        """Return the fire times in a span that have a run which was not skipped."""
        ...

    async def watch(self) -> Watch:
        """Return what there is to fire, and when. Changes nothing."""
        ...

    async def note_watch(self) -> None:
        """Note that a scheduler is running, and that no missed firing is left."""
        ...

    async def prune_runs(self, *, before: Instant, limit: int) -> int:
        """Delete up to `limit` notes of runs that were made before a time, but for those that wait; return how many."""
        ...


class Firing(Protocol):
    """Makes the runs of schedules, with their tasks and jobs."""

    async def fire(self, order: FireOrder) -> Fired:
        """Make the runs of schedules that are due, and find their next fire times.

        What is due is decided by `core.firing`. Schedules that another scheduler is firing just now are passed over.
        What is made has ids in the slot of its schedule while that is open here, else in one that is. While none is,
        nothing fires, and fire times stay as they are.
        """
        ...

    async def start_runs(self, order: FireOrder) -> Fired:
        """Start waiting runs: those of backfills whose time has come, and those before which no run goes on any more.

        At most one of the latter for each schedule, the oldest; none while the schedule is paused.
        """
        ...

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun], order: FireOrder) -> Fired:
        """Start runs, or let them wait for their time; one whose fire time has a run already is left out.

        A skipped run does not count as one: it is made up for. A run that starts at once becomes the previous run.
        Raises `NotFound`.
        """
        ...
