"""Rows of schedules, as both stores keep them, the views made from them, and events about runs."""

import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from drumline.core.accept_job import JobDefaults, accept_job, name_of
from drumline.core.clock import Instant, moment_of
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, NotFound
from drumline.core.event import Fact
from drumline.core.firing import DueSchedule, FiringDecision
from drumline.core.firing_policy import FiringPolicy
from drumline.core.ids import IdSource, JobId, ScheduleId, TaskId, made_at
from drumline.core.job import JobRequest, JobTaskRequest, NewJob
from drumline.core.limits import Limits
from drumline.core.retry import RetryDefaults
from drumline.core.schedule import Origin, RunKind, RunState, RunView, ScheduleState, ScheduleTarget, ScheduleView, Turn
from drumline.core.slots import slot_of
from drumline.core.task import NewTask, TaskRequest, accept, decode_options, encode_options, expiry_of
from drumline.core.task_type import UNKNOWN_TYPE, StoredType, TypeDefaults, TypeRules, rules_of
from drumline.core.timetable import Rule
from drumline.ports.task_types import TypeKey

STATES: Final = (ScheduleState.ACTIVE, ScheduleState.PAUSED, ScheduleState.FINISHED)
KINDS: Final = (RunKind.SCHEDULED, RunKind.MISFIRE, RunKind.TRIGGER, RunKind.BACKFILL)
RUN_STATES: Final = (RunState.STARTED, RunState.WAITING, RunState.SKIPPED)
"""Each at the number that is stored for it: never reuse one."""

NUMBER_OF: Final[Mapping[object, int]] = MappingProxyType(
    {word: number for words in (STATES, KINDS, RUN_STATES) for number, word in enumerate(words)}
)

Request = TypeVar("Request", TaskRequest, JobTaskRequest, JobRequest)

_LARGEST_KEPT: Final = 4096
"""Characters of a target that is kept in memory once it has been read."""
_ANY_SIZE: Final = Limits(payload=sys.maxsize, nesting=sys.maxsize)
_NO_ID: Final = TaskId("00000000-0000-7000-8000-000000000000")
NO_TYPES: Final[Mapping[TypeKey, TypeRules]] = MappingProxyType({})


class ScheduleRow(NamedTuple):
    """A schedule's row; the order is that of every statement that gives one."""

    id: str
    tenant: str
    name: str
    rule: str
    policy: str
    target: str
    state: int
    fire_at: int | None
    due_at: int | None
    version: int
    created_at: int
    changed_at: int
    app: str | None
    module: str | None
    reason: str | None
    runs: int
    skipped: int
    missed: int
    waiting: int
    last_fire_time: int | None
    last_task: str | None
    last_job: str | None


class DueRow(NamedTuple):
    """A schedule whose time has come; the order is that of the statements that give one."""

    id: str
    tenant: str
    name: str
    rule: str
    policy: str
    target: str
    fire_at: int
    runs: int
    waiting: int
    last_task: str | None
    last_job: str | None
    is_busy: bool

    @property
    def due(self) -> DueSchedule:
        """What is to be decided about."""
        return DueSchedule(
            id=ScheduleId(self.id),
            rule=rule_of(self.rule),
            policy=policy_of(self.policy),
            fire_at=Instant(self.fire_at),
            runs=self.runs,
            waiting=self.waiting,
            is_busy=bool(self.is_busy),
        )


class WaitingRow(NamedTuple):
    """A run that may start now; the order is that of the statements that give one."""

    schedule: str
    tenant: str
    name: str
    target: str
    fire_time: int = 0
    kind: int = 0
    is_queued: bool = False
    """Whether it waited for the one before it, as against for its time."""

    @property
    def key(self) -> tuple[str, int]:
        """What makes it unique."""
        return str(self.schedule), self.fire_time


class Maker(NamedTuple):
    """Makes tasks and jobs of schedules."""

    ids: IdSource
    slots: Container[int] | None
    """Those in which ids may be made; None means all."""
    limits: Limits
    retry: RetryDefaults
    types: Mapping[TypeKey, TypeRules] = NO_TYPES
    """What is known of types, by tenant and name."""

    def make(self, target: str, *, schedule: str, tenant: str, fire_time: Instant) -> NewTask | NewJob:
        """Return the task or job of one firing, or raise `Invalid` if it is not accepted any more."""
        (name, *_) = names = names_in(target)
        rules = {each: self.types.get((tenant, each), UNKNOWN_TYPE) for each in names}
        pattern = _pattern if len(target) <= _LARGEST_KEPT else _pattern.__wrapped__
        made = pattern(target, tenant, self.retry, rules[name].defaults)
        if isinstance(made, NewTask):
            id_ = self.ids.next(self._slot_for(schedule))
            task = _made_now(made, id_)
            version = self.ids.version(id_)
            return replace(task, options=_marked(task.options, schedule, fire_time), slot_version=version)
        id_ = self.ids.next(self._slot_for(schedule))
        job = accept_job(
            made,
            id=JobId(id_),
            new_id=iter(self.ids.take_in(slot_of(id_), len(made.tasks))).__next__,
            tenant=tenant,
            limits=self.limits,
            defaults=JobDefaults(self.retry, rules),
        )
        tasks = tuple(
            replace(each, task=replace(each.task, options=_marked(each.task.options, schedule, fire_time)))
            for each in job.tasks
        )
        # Of jobs that are not here another shard knows, unless there is no other.
        elsewhere = frozenset(job.depends_on) if self.slots is not None else job.elsewhere
        return replace(
            job,
            tasks=tasks,
            schedule_id=schedule,
            fire_time=fire_time,
            elsewhere=elsewhere,
            slot_version=self.ids.version(id_),
        )

    def _slot_for(self, schedule: str) -> int:
        """Return the slot of a schedule if it takes new work here, else one that does."""
        slot = slot_of(schedule)
        return slot if self.slots is None or slot in self.slots else slot_of(self.ids.next())


def _made_now(pattern: NewTask, id: TaskId) -> NewTask:
    """Return the task of a pattern, which was accepted as of the time 0."""
    if pattern.expires_at is None:
        return replace(pattern, id=id)
    expires_at = expiry_of(made_at(id), pattern.expires_at)
    options = replace(decode_options(pattern.options), expires_at=expires_at)
    return replace(pattern, id=id, expires_at=expires_at, options=encode_options(options))


def _marked(options: bytes | None, schedule: str, fire_time: Instant) -> bytes:
    """Return a task's options with the schedule that makes it in them. To decode and encode them would take longer."""
    mark = b'"schedule":"%b","fire_time":%d}' % (schedule.encode(), fire_time)
    return b"{" + mark if options is None else options[:-1] + b"," + mark


@lru_cache(maxsize=16_384)
def _pattern(target: str, tenant: str, retry: RetryDefaults, declared: TypeDefaults) -> Any:
    """Return the task that a target makes, but for its id; or the job as it was asked for.

    Its size was checked when it was stored: a limit that was lowered since does not stop what was accepted.
    """
    wanted = decode(target, ScheduleTarget)
    if wanted.task is None:
        return None if wanted.job is None else _audible_job(wanted.job)
    rules = TypeRules(defaults=declared)  # its payload was checked when it was stored
    return accept(_audible(wanted.task), id=_NO_ID, tenant=tenant, limits=_ANY_SIZE, retry=retry, rules=rules)


def _audible_job(job: JobRequest) -> JobRequest:
    tasks = {key: _zoned(_audible(task)) for key, task in job.tasks.items()}
    return _audible(job) if tasks == job.tasks else replace(_audible(job), tasks=tasks)


def _audible(request: Request) -> Request:
    """Return a request without targets that name no outcome: such were accepted once, and told of nothing."""
    if all(target.on for target in request.notify or ()):
        return request
    return replace(request, notify=tuple(target for target in request.notify or () if target.on))


def _zoned(task: JobTaskRequest) -> JobTaskRequest:
    """Return a task whose time has a zone: such without were accepted once, and taken for UTC."""
    if task.run_at is None or task.run_at.tzinfo is not None:
        return task
    return replace(task, run_at=task.run_at.replace(tzinfo=UTC))


def names_in(target: str) -> tuple[str, ...]:
    """Return the names of the tasks that a target makes; there is at least one."""
    return (_names_in if len(target) <= _LARGEST_KEPT else _names_in.__wrapped__)(target)


@lru_cache(maxsize=16_384)
def _names_in(target: str) -> tuple[str, ...]:
    wanted = decode(target, ScheduleTarget)
    if wanted.task is not None:
        return (wanted.task.name,)
    tasks = wanted.job.tasks if wanted.job is not None else {}
    return tuple({name_of(key, task) for key, task in tasks.items()}) or ("",)


def keys_in(rows: Iterable["DueRow | WaitingRow"]) -> list[TypeKey]:
    """Return the types of the tasks that schedules make."""
    return list({(row.tenant, name) for row in rows for name in names_in(row.target)})


def known_types(wanted: Sequence[TypeKey], found: Sequence[StoredType | None]) -> dict[TypeKey, TypeRules]:
    """Return types by their keys; payloads were checked when the schedules were stored."""
    return {key: rules_of(stored) for key, stored in zip(wanted, found, strict=True)}


@lru_cache(maxsize=16_384)
def rule_of(text: str) -> Rule:
    """Return a stored rule."""
    return decode(text, Rule)


@lru_cache(maxsize=1024)
def policy_of(text: str) -> FiringPolicy:
    """Return a stored policy."""
    return decode(text, FiringPolicy)


def text_of(value: Rule | FiringPolicy | ScheduleTarget) -> str:
    """Return a part of a schedule as it is stored. An empty object means all defaults."""
    return encode(value).decode()


def schedule_view(values: Iterable[Any]) -> ScheduleView:
    """Return a schedule's row for people."""
    row = ScheduleRow(*values)
    return ScheduleView(
        id=ScheduleId(str(row.id)),
        tenant=row.tenant,
        name=row.name,
        rule=rule_of(row.rule),
        policy=policy_of(row.policy),
        target=decode(row.target, ScheduleTarget),
        state=STATES[row.state],
        turn=None if row.fire_at is None or row.due_at is None else Turn(Instant(row.fire_at), Instant(row.due_at)),
        version=row.version,
        created_at=Instant(row.created_at),
        changed_at=Instant(row.changed_at),
        origin=None if row.app is None or row.module is None else Origin(row.app, row.module),
        reason=row.reason,
        runs=row.runs,
        skipped=row.skipped,
        missed=row.missed,
        waiting=row.waiting,
        last_fire_time=None if row.last_fire_time is None else Instant(row.last_fire_time),
        last_task=None if row.last_task is None else TaskId(str(row.last_task)),
        last_job=None if row.last_job is None else JobId(str(row.last_job)),
    )


def run_view(values: Iterable[Any]) -> RunView:
    """Return a run's row for people."""
    schedule, fire_time, kind, state, created_at, start_at, task, job, reason = values
    return RunView(
        schedule=ScheduleId(str(schedule)),
        fire_time=Instant(fire_time),
        kind=KINDS[kind],
        state=RUN_STATES[state],
        created_at=Instant(created_at),
        start_at=None if start_at is None else Instant(start_at),
        task=None if task is None else TaskId(str(task)),
        job=None if job is None else JobId(str(job)),
        reason=reason,
    )


def missing(schedule: ScheduleId) -> NotFound:
    """Return the error for a schedule that there is not."""
    return NotFound(f"there is no schedule {schedule}", field="id")


def taken(name: str) -> Conflict:
    """Return the error for a name that another schedule has."""
    return Conflict(f"there is a schedule named {name!r} already", field="name")


def outdated(schedule: ScheduleId) -> Conflict:
    """Return the error for a change of something that has changed meanwhile."""
    return Conflict(f"schedule {schedule} has been changed meanwhile", field="version")


def schedule_fact(word: str, view: ScheduleView) -> Fact:
    """Return the fact that something was done to a schedule."""
    data = {
        "name": view.name,
        "state": view.state.value,
        "next_fire_at": None if view.turn is None else moment_of(view.turn.fire_at),
        "reason": view.reason,
    }
    return Fact(f"drumline.schedule.{word}", view.id, view.tenant, data)


def run_facts(row: DueRow | WaitingRow, runs: Iterable[RunView], firing: FiringDecision | None = None) -> list[Fact]:
    """Return the facts about runs of a schedule, and that it has finished if it has."""
    facts = [Fact(_TYPE_OF[run.state], run.schedule, row.tenant, _run_data(row.name, run)) for run in runs]
    if firing is not None and firing.turn is None:
        facts.append(Fact("drumline.schedule.finished", str(row[0]), row.tenant, {"name": row.name}))
    return facts


_TYPE_OF: Final = {
    RunState.STARTED: "drumline.schedule.fired",
    RunState.WAITING: "drumline.schedule.queued",
    RunState.SKIPPED: "drumline.schedule.skipped",
}


def _run_data(name: str, run: RunView) -> dict[str, Any]:
    return {
        "name": name,
        "fire_time": moment_of(run.fire_time),
        "kind": run.kind.value,
        "task_id": run.task,
        "job_id": run.job,
        "reason": run.reason,
    }
