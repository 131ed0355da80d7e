"""Schedules: asked for, looked at and changed. Their runs are in `engine/runs.py`."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.accept_schedule import (
    accept_schedule,
    check_target,
    due_at,
    edited,
    first_turn,
    policy_of,
    rule_of,
    target_of,
    turn_after,
)
from drumline.core.clock import Instant, to_instant
from drumline.core.errors import Conflict, DrumlineError, Invalid, Moved, NotFound
from drumline.core.fires_by_day import DayFires, fires_by_day
from drumline.core.firing_policy import FiringPolicy
from drumline.core.ids import IdSource, ScheduleId, parse_schedule_id
from drumline.core.job import JobRequest
from drumline.core.mapping import AllowTask, allow_task, names_in
from drumline.core.names import check_name, check_text
from drumline.core.redaction import restored_target
from drumline.core.schedule import (
    NewSchedule,
    ScheduleEdit,
    ScheduleRequest,
    ScheduleState,
    ScheduleTarget,
    ScheduleView,
    Turn,
)
from drumline.core.secret_references import has_secrets
from drumline.core.slots import slot_of_key
from drumline.core.task import TaskRequest, queue_of
from drumline.core.task_type import UNKNOWN_TYPE, weight_of_rules
from drumline.core.timetable import FireTime, Rule, upcoming
from drumline.engine.checks import RequestChecks
from drumline.engine.paging import bounded_page
from drumline.engine.secrets import PayloadToCheck
from drumline.engine.submit_jobs import allow_job, job_names
from drumline.ports.schedules import Definition, Placing, ScheduleChange, ScheduleFilter
from drumline.ports.store import Store

T = TypeVar("T")

LONGEST_REASON: Final = 500
TRIES: Final = 5
"""How often a change is tried that others come in between."""

Changing = Callable[[ScheduleView, Instant], ScheduleChange | None]
"""Returns what to change of a schedule as it stands; None if there is nothing to."""


class SchedulePage(Struct, frozen=True):
    """A stretch of the list of schedules, and the cursor that continues it."""

    items: tuple[ScheduleView, ...]
    next_cursor: str | None


class Preview(Struct, frozen=True):
    """What a rule says, and when it fires next."""

    rule: Rule
    times: tuple[FireTime, ...]


FIRE_TIME_BYTES: Final = 4000
"""What finding a fire time costs, as bytes of JSON: those of a rule that seldom fires take long."""
TASK_BYTES: Final = 600


def weight_of(task: TaskRequest | None, job: JobRequest | None) -> int:
    """Return what looking through the pattern of a task or a job costs, as bytes of JSON."""
    tasks = () if job is None else job.tasks.values()
    return (0 if task is None else len(task.payload)) + sum(len(each.payload) + TASK_BYTES for each in tasks)


def following(view: ScheduleView, count: int) -> tuple[FireTime, ...]:
    """Return the next fire times of a schedule; none unless it is active."""
    if view.turn is None:
        return ()
    return tuple(upcoming(view.rule, after=Instant(view.turn.fire_at - 1), count=count))


def days_of(view: ScheduleView, count: int) -> tuple[DayFires, ...]:
    """Return how often a schedule fires on each of so many days; nothing unless it is active."""
    if view.turn is None or count == 0:
        return ()
    return tuple(fires_by_day(view.rule, after=Instant(view.turn.fire_at - 1), days=count))


class ScheduleStoring(Protocol):
    """Stores schedules that have been checked."""

    async def add_schedules(self, schedules: Sequence[NewSchedule], /) -> list[ScheduleView | Conflict | Moved]:
        """Store schedules, as `ports.schedules.Schedules` does."""
        ...


class CheckName(Protocol):
    """Raises `Conflict` if another schedule of a tenant has a name."""

    async def __call__(self, name: str, *, tenant: str, schedule: ScheduleId) -> None:
        """Raise, or do nothing."""


class ScheduleService:
    """What people do with schedules. A `tenant` of None is everybody's."""

    def __init__(self, store: Store, checks: RequestChecks, *, ids: IdSource) -> None:
        self._store = store
        self._ids = ids
        self.storing: ScheduleStoring = store.schedules
        """Where new schedules go: to the store, or where `shards` route them."""
        self.check_name: CheckName | None = None
        """Asked before a schedule gets another name; None where the store knows all names."""
        self._limits, self._quotas, self._secrets, self._types, self._redaction, _ = checks

    async def create(self, request: ScheduleRequest, *, tenant: str) -> ScheduleView:
        """Store a schedule; raises `Invalid`, or `Conflict` if the name is taken."""
        now = await self._store.queries.now()
        new = await off_loop(weight_of(request.task, request.job), lambda: self.accept(request, tenant=tenant, now=now))
        await self._check_types(new.target, tenant=tenant)
        return or_raise(await self.add(new))

    async def add(self, new: NewSchedule) -> list[ScheduleView | Conflict | Moved]:
        """Store a schedule that was accepted, if its tenant may have one more; raises `QuotaExceeded`."""
        await self.check_payloads(new.target, tenant=new.tenant)
        await self._quotas.admit_schedule(new.tenant)
        return await self.storing.add_schedules([new])

    def accept(self, request: ScheduleRequest, *, tenant: str, now: Instant) -> NewSchedule:
        """Return a schedule that can be stored, or raise `Invalid`."""
        id_ = ScheduleId(self._ids.next(slot_of_key(tenant, request.name)))
        new = accept_schedule(request, id=id_, now=now, tenant=tenant, limits=self._limits)
        return replace(new, slot_version=self._ids.version(id_))

    async def check_payloads(self, target: ScheduleTarget, *, tenant: str, field: str = "") -> None:
        """Raise `Invalid` naming a payload that is larger than its tenant may have, or refers to a missing secret."""
        wanted = []
        if target.task is not None:
            wanted.append(PayloadToCheck(bytes(target.task.payload), f"{field}task.payload"))
        if target.job is not None:
            tasks = target.job.tasks.items()
            wanted += [PayloadToCheck(bytes(task.payload), f"{field}job.tasks.{key}.payload") for key, task in tasks]
        await self._quotas.check_payloads(tenant, {each.field: len(each.payload) for each in wanted})
        if any(has_secrets(each.payload) for each in wanted):
            await self._secrets.check(wanted, tenant=tenant)

    async def _check_types(self, target: ScheduleTarget, *, tenant: str) -> None:
        """Raise `Invalid` naming what of a payload does not fit the type of its task.

        Not for those that an app registers: they may be ahead of the types that its own worker is about to publish.
        """
        rules = await self._types.rules_of(_names_in(target), tenant=tenant)
        check = partial(check_target, target, tenant=tenant, limits=self._limits, rules=rules)
        await off_loop(weight_of(target.task, target.job) + weight_of_rules(rules.values()), check)

    async def allow(self, target: ScheduleTarget, allow: AllowTask, *, tenant: str) -> None:
        """Ask whether a caller may submit what a schedule is to make, into the queues that it will be in as of now."""
        rules = await self._types.rules_of(_names_in(target), tenant=tenant)
        if target.task is not None:
            queue = queue_of(target.task, rules.get(target.task.name, UNKNOWN_TYPE))
            allow_task(allow, target.task.name, queue, target.task.payload, rules, field="task.")
        if target.job is not None:
            allow_job(target.job, rules, allow, field="job.")

    async def get(self, schedule: ScheduleId, *, tenant: str | None = None) -> ScheduleView:
        """Return a schedule, or raise `NotFound`."""
        (view,) = await self._store.schedules.get_schedules([schedule], tenant=tenant)
        if view is None:
            raise NotFound(f"there is no schedule {schedule}", field="id")
        return view

    async def list_schedules(
        self, which: ScheduleFilter, *, limit: int = 100, cursor: str | None = None
    ) -> SchedulePage:
        """Return a page of schedules, newest first."""
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")
        before = None if cursor is None else parse_schedule_id(cursor, field="cursor")

        async def read(wanted: int, last: ScheduleView | None) -> Sequence[ScheduleView]:
            start = before if last is None else last.id
            return await self._store.schedules.list_schedules(which, limit=wanted, before=start)

        views, more = await bounded_page(
            read, limit=limit, weigh=lambda view: weight_of(view.target.task, view.target.job)
        )
        return SchedulePage(tuple(views), views[-1].id if more else None)

    async def edit(self, schedule: ScheduleId, edit: ScheduleEdit, *, tenant: str | None = None) -> ScheduleView:
        """Change what a schedule is. If that changes when it fires, its next fire time is found anew, from now on."""
        task = edit.task if isinstance(edit.task, TaskRequest) else None
        job = edit.job if isinstance(edit.job, JobRequest) else None
        weight = weight_of(task, job)
        return await self._change(
            schedule, lambda view, now: self.editing(view, edit, now), tenant=tenant, weight=weight
        )

    async def pause(
        self, schedule: ScheduleId, *, reason: str | None = None, tenant: str | None = None
    ) -> ScheduleView:
        """Let a schedule not fire any more; what has started goes on."""
        if reason is not None:
            check_text(reason, field="reason", longest=LONGEST_REASON)
        return await self._change(schedule, lambda view, _: pausing(view, reason), tenant=tenant)

    async def resume(self, schedule: ScheduleId, *, tenant: str | None = None) -> ScheduleView:
        """Let a paused schedule fire again, from now on: what it missed meanwhile does not fire."""
        return await self._change(schedule, resuming, tenant=tenant)

    async def delete(self, schedule: ScheduleId, *, tenant: str | None = None) -> ScheduleView:
        """Delete a schedule and the notes of its runs; its tasks and jobs stay. Returns it as it last stood."""
        return or_raise(await self._store.schedules.delete_schedules([schedule], tenant=tenant))

    async def preview(self, request: ScheduleRequest, *, count: int, after: datetime | None = None) -> Preview:
        """Return when a schedule would fire, or raise `Invalid`; nothing is stored."""
        now = await self._store.queries.now()
        begin = now if after is None else to_instant(after, field="after")

        def preview() -> Preview:
            rule = rule_of(request, now=begin)
            first_turn(ScheduleId(""), rule, policy_of(request), begin)
            return Preview(rule, tuple(upcoming(rule, after=begin, count=count)))

        return await off_loop(FIRE_TIME_BYTES * count, preview)

    async def next_times(self, view: ScheduleView, count: int) -> tuple[FireTime, ...]:
        """Return when a schedule fires next; nothing unless it is active."""
        return await off_loop(FIRE_TIME_BYTES * count, lambda: following(view, count))

    async def days(self, view: ScheduleView, count: int) -> tuple[DayFires, ...]:
        """Return how often a schedule fires on each of so many days; nothing unless it is active."""
        return await off_loop(FIRE_TIME_BYTES * count, lambda: days_of(view, count))

    def editing(self, view: ScheduleView, edit: ScheduleEdit, now: Instant) -> ScheduleChange:
        """Return the change that an edit of a schedule comes down to, or raise `Invalid`."""
        request = edited(view, edit)
        policy, rule = policy_of(request), rule_of(request, now=now)
        target = target_of(request, tenant=view.tenant, limits=self._limits)
        target = restored_target(target, view.target, self._redaction)
        rule = view.rule if replace(rule, anchor=view.rule.anchor) == view.rule else rule
        definition = Definition(
            name=check_name(request.name), rule=rule, policy=policy, target=target, origin=view.origin
        )
        placing = None
        if definition.rule != view.rule or policy != view.policy:
            placing = _placing(view, rule, policy, now)
        return ScheduleChange(
            id=view.id,
            version=view.version,
            word="edited",
            definition=definition,
            placing=placing,
            name_version=self._name_version(view, definition.name),
        )

    def _name_version(self, view: ScheduleView, name: str) -> int | None:
        """Return the version of the entry of the map for the name that a schedule is to have; None if that stays."""
        if name == view.name:
            return None
        return self._ids.open.versions.get(slot_of_key(view.tenant, name), 0)

    async def _change(
        self, schedule: ScheduleId, changing: Changing, *, tenant: str | None, weight: int = 0
    ) -> ScheduleView:
        """Change the current version of a schedule; repeated if another caller changed it meanwhile."""
        for _ in range(TRIES):
            view = await self.get(schedule, tenant=tenant)
            now = await self._store.queries.now()
            change = await off_loop(weight + weight_of(view.target.task, view.target.job), partial(changing, view, now))
            if change is None:
                return view
            if change.definition is not None:
                await self.check_payloads(change.definition.target, tenant=view.tenant)
                if change.name_version is not None and self.check_name is not None:
                    await self.check_name(change.definition.name, tenant=view.tenant, schedule=view.id)
                if change.definition.target != view.target:
                    await self._check_types(change.definition.target, tenant=view.tenant)
            (answer,) = await self._store.schedules.change_schedules([change], tenant=tenant)
            if not (isinstance(answer, Conflict) and answer.field == "version"):
                return or_raise([answer])
        raise Conflict("the schedule is being changed by others; try again", field="id")


def _names_in(target: ScheduleTarget) -> set[str]:
    if target.task is not None:
        return names_in(target.task.name, target.task.payload)
    return set() if target.job is None else job_names(target.job)


def _placing(view: ScheduleView, rule: Rule, policy: FiringPolicy, now: Instant) -> Placing | None:
    """Return when an edited schedule fires next; None if that stays. Raises `Invalid` if it can never fire."""
    fires_otherwise = rule != view.rule or policy.jitter_ms != view.policy.jitter_ms
    is_revived = view.state is ScheduleState.FINISHED and policy.max_runs != view.policy.max_runs
    turn = None
    if rule == view.rule and view.turn is not None:
        # Its next fire time may be over, and only the share of the jitter be left to wait for.
        turn = Turn(view.turn.fire_at, due_at(view.id, policy, view.turn.fire_at))
    elif fires_otherwise or is_revived:
        # Whatever it fires at now, it has to fire at all. What has finished may still be renamed.
        turn = first_turn(view.id, rule, policy, now)
    if view.state is ScheduleState.PAUSED:
        return None
    if is_used_up(view, policy):
        return Placing(state=ScheduleState.FINISHED)
    return Placing(state=ScheduleState.ACTIVE, turn=turn) if fires_otherwise or is_revived else None


def is_used_up(view: ScheduleView, policy: FiringPolicy) -> bool:
    """Tell whether a schedule has had all the runs that a policy gives it."""
    return policy.max_runs is not None and view.runs >= policy.max_runs


def pausing(view: ScheduleView, reason: str | None) -> ScheduleChange | None:
    """Return the change that pauses a schedule."""
    if view.state is ScheduleState.PAUSED and view.reason == reason:
        return None
    placing = Placing(state=ScheduleState.PAUSED, reason=reason)
    return ScheduleChange(id=view.id, version=view.version, word="paused", placing=placing)


def resuming(view: ScheduleView, now: Instant) -> ScheduleChange | None:
    """Return the change that resumes a schedule: it has finished if it has no fire time left."""
    if view.state is not ScheduleState.PAUSED:
        return None
    turn = None if is_used_up(view, view.policy) else turn_after(view.id, view.rule, view.policy, now)
    state = ScheduleState.FINISHED if turn is None else ScheduleState.ACTIVE
    return ScheduleChange(id=view.id, version=view.version, word="resumed", placing=Placing(state=state, turn=turn))


def or_raise(answers: Sequence[T | DrumlineError]) -> T:
    """Return the one answer there is, or raise it if it is an error."""
    (answer,) = answers
    if isinstance(answer, DrumlineError):
        raise answer
    return answer
