"""Plans of firings: which runs a due schedule makes, and how it goes on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import structlog
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.event import Fact
from drumline.core.firing import FiringDecision, Run, fire
from drumline.core.firing_policy import Overlap
from drumline.core.ids import ScheduleId, TaskId
from drumline.core.job import JobStatus, NewJob
from drumline.core.schedule import RunState, RunView, Turn
from drumline.core.task import NewTask
from drumline.core.task_type import TypeRules
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.schedules import Fired, FireOrder, NewRun
from drumline.ports.task_types import TypeKey
from drumline.stores.schedule_rows import KINDS, NO_TYPES, NUMBER_OF, DueRow, Maker, WaitingRow, run_facts

PUT_OFF_MS: Final = 60_000
"""How long a schedule waits that could not be read; its fire time stays."""
RUNS_AT_ONCE: Final = 2
"""How many runs there may be for each schedule in one transaction, on the whole, before the rest has to wait."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()

Key = tuple[str, int]
"""What makes a run unique: its schedule and its fire time."""


class Planned(NamedTuple):
    """A run, and the task or job that it starts."""

    run: RunView
    made: NewTask | NewJob | None = None

    @property
    def key(self) -> Key:
        """What makes it unique."""
        return self.run.schedule, self.run.fire_time

    @property
    def columns(self) -> tuple[object, ...]:
        """What is stored of it, in the order of `insert_runs`."""
        run = self.run
        kind, state = NUMBER_OF[run.kind], NUMBER_OF[run.state]
        return run.schedule, run.fire_time, kind, state, run.start_at, run.task, run.job, run.reason

    def refused(self, error: Invalid) -> "Planned":
        """Return it as skipped, because its task or job was not accepted."""
        skipped = replace(self.run, state=RunState.SKIPPED, task=None, job=None, reason=str(error))
        return Planned(skipped)


class Due(NamedTuple):
    """A schedule that is due, and what was decided."""

    row: DueRow
    firing: FiringDecision
    planned: tuple[Planned, ...]

    @property
    def cancels(self) -> bool:
        """Whether its previous run is to be cancelled: only if a new run takes its place."""
        starts = any(one.run.state is RunState.STARTED for one in self.planned)
        return starts and bool(self.row.is_busy) and self.row.due.policy.overlap is Overlap.CANCEL_PREVIOUS

    def kept(self, runs: "Mapping[Key, Planned]") -> "Due":
        """Return it with those of its runs that were stored, as they were."""
        came = tuple([runs[one.key] for one in self.planned if one.key in runs])
        return self if came == self.planned else self._replace(planned=came)


class Made(NamedTuple):
    """What was stored: runs by key, tasks with their due times, jobs, and what followed in jobs."""

    runs: dict[Key, Planned]
    tasks: tuple[tuple[NewTask, Instant], ...]
    jobs: tuple[tuple[NewJob, JobStatus], ...]
    effects: Effects

    def fired(self, dealt_with: int, *, has_more: bool = False) -> Fired:
        """Return it as the answer of a store."""
        return Fired(
            schedules=dealt_with,
            has_more=has_more,
            runs=tuple([one.run for one in self.runs.values()]),
            tasks=self.tasks,
            jobs=self.jobs,
            effects=self.effects,
        )


class StoppedSchedule(NamedTuple):
    """What cancelling a previous run led to: tasks that ended at once, and what followed in jobs."""

    tasks: tuple[TaskId, ...] = ()
    effects: Effects = NO_EFFECTS


def plan_firings(
    rows: Sequence[DueRow], order: FireOrder, now: Instant, types: Mapping[TypeKey, TypeRules] = NO_TYPES
) -> list[Due]:
    """Decide about schedules, in their order, until that makes as many runs as one transaction should have."""
    maker = _maker(order, types)
    plans: list[Due] = []
    room = order.limit * RUNS_AT_ONCE
    for row in rows:
        if room <= 0:
            break
        firing = _decided(row, order, now)
        planned = tuple([_planned(row, run, maker, now) for run in firing.runs])
        room -= len(planned)
        plans.append(Due(row, firing, planned))
    return plans


def _maker(order: FireOrder, types: Mapping[TypeKey, TypeRules]) -> Maker:
    slots = order.ids.open.slots
    return Maker(order.ids, None if slots is None else frozenset(slots), order.limits, order.retry, types)


def _decided(row: DueRow, order: FireOrder, now: Instant) -> FiringDecision:
    """Decide about a schedule. One that this process cannot read must not keep the others from firing."""
    try:
        return fire(row.due, now=now, absence=order.absence, limits=order.limits)
    except Invalid as error:  # its time zone is not known here: another machine has other files
        log.warning("schedule.put_off", schedule=row.id, error=str(error))
        return FiringDecision(runs=(), missed=0, turn=Turn(Instant(row.fire_at), Instant(now + PUT_OFF_MS)))


def plan_starts(
    rows: Iterable[WaitingRow], order: FireOrder, now: Instant, types: Mapping[TypeKey, TypeRules] = NO_TYPES
) -> list[Planned]:
    """Return runs that have waited, as they start now."""
    maker = _maker(order, types)
    return [_planned(row, Run(Instant(row.fire_time), KINDS[row.kind], RunState.STARTED), maker, now) for row in rows]


def plan_runs(
    row: WaitingRow,
    runs: Iterable[NewRun],
    order: FireOrder,
    now: Instant,
    types: Mapping[TypeKey, TypeRules] = NO_TYPES,
) -> list[Planned]:
    """Return runs that were requested, of the schedule in `row`."""
    maker = _maker(order, types)
    planned = []
    for run in runs:
        state = RunState.STARTED if run.start_at is None else RunState.WAITING
        one = _planned(row, Run(run.fire_time, run.kind, state), maker, now)
        planned.append(one._replace(run=replace(one.run, start_at=run.start_at)))
    return planned


def _planned(row: DueRow | WaitingRow, run: Run, maker: Maker, now: Instant) -> Planned:
    schedule = ScheduleId(row.id if isinstance(row, DueRow) else row.schedule)
    made: NewTask | NewJob | None = None
    state, reason = run.state, run.reason
    if state is RunState.STARTED:
        try:
            made = maker.make(row.target, schedule=schedule, tenant=row.tenant, fire_time=run.fire_time)
        except Invalid as error:
            state, reason = RunState.SKIPPED, str(error)
    view = RunView(
        schedule=schedule,
        fire_time=run.fire_time,
        kind=run.kind,
        state=state,
        created_at=now,
        task=made.id if isinstance(made, NewTask) else None,
        job=made.id if isinstance(made, NewJob) else None,
        reason=reason,
    )
    return Planned(view, made)


def tasks_of(planned: Iterable[Planned]) -> list[NewTask]:
    """Return the tasks that runs make."""
    return [one.made for one in planned if isinstance(one.made, NewTask)]


class Advance(NamedTuple):
    """How a schedule goes on; counts are what is to be added. The order is that of `advance_schedules`."""

    id: str
    fire_at: int | None
    due_at: int | None
    is_finished: bool
    runs: int
    skipped: int
    missed: int
    waiting: int
    last_fire_time: int | None
    last_task: str | None
    last_job: str | None

    @property
    def is_plain(self) -> bool:
        """Whether it is as nearly always: one run, a task, started; and the schedule goes on, without jitter."""
        return self.last_task is not None and self[3:8] == (False, 1, 0, 0, 0) and self.fire_at == self.due_at


def advance_of(due: Due) -> Advance:
    """Return how a schedule goes on after a firing."""
    turn = due.firing.turn
    if len(due.planned) == 1 and turn is not None and not due.firing.missed:
        run = due.planned[0].run
        if run.state is RunState.STARTED:  # as nearly always
            return Advance(due.row.id, turn.fire_at, turn.due_at, False, 1, 0, 0, 0, run.fire_time, run.task, run.job)
    states = [one.run.state for one in due.planned]
    skipped, waiting = states.count(RunState.SKIPPED), states.count(RunState.WAITING)
    last = None
    if len(states) > skipped + waiting:
        last = next(one.run for one in reversed(due.planned) if one.run.state is RunState.STARTED)
    return Advance(
        due.row.id,
        None if turn is None else turn.fire_at,
        None if turn is None else turn.due_at,
        turn is None,
        len(states) - skipped,
        skipped,
        due.firing.missed,
        waiting,
        None if last is None else last.fire_time,
        None if last is None else last.task,
        None if last is None else last.job,
    )


def facts_of(plans: Iterable[Due]) -> list[Fact]:
    """Return the facts about firings."""
    return [fact for due in plans for fact in run_facts(due.row, [one.run for one in due.planned], due.firing)]
