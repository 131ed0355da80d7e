"""Accepting a schedule: everything about it is checked before anything is stored, and its next firing is found."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from drumline.core.accept_job import NO_RULES, JobDefaults, accept_job
from drumline.core.clock import LATEST, Instant, to_datetime, to_instant
from drumline.core.cron import parse_cron
from drumline.core.duration import millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.firing_policy import MOST_RUNS, FiringPolicy, JobSchedule
from drumline.core.ids import JobId, ScheduleId, TaskId
from drumline.core.job import JobRequest
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.names import check_name
from drumline.core.schedule import (
    NewSchedule,
    ScheduleEdit,
    ScheduleRequest,
    ScheduleState,
    ScheduleTarget,
    ScheduleView,
    Turn,
)
from drumline.core.task import DEFAULT_TENANT, TaskRequest, accept
from drumline.core.task_type import UNKNOWN_TYPE, TypeRules
from drumline.core.timetable import Rule, timetable
from drumline.core.zone import zone_of

SHORTEST_INTERVAL_MS: Final = 1000
LONGEST_JITTER_MS: Final = 86_400_000

_NO_ID: Final = TaskId("00000000-0000-7000-8000-000000000000")


def accept_schedule(
    request: ScheduleRequest,
    *,
    id: ScheduleId,
    now: Instant,
    tenant: str = DEFAULT_TENANT,
    limits: Limits = DEFAULT_LIMITS,
) -> NewSchedule:
    """Return the request as a schedule that can be stored, or raise `Invalid` naming the field at fault."""
    rule = rule_of(request, now=now)
    policy = policy_of(request)
    first = first_turn(id, rule, policy, now)
    return NewSchedule(
        id=id,
        tenant=tenant,
        name=check_name(request.name),
        rule=rule,
        policy=policy,
        target=target_of(request, tenant=tenant, limits=limits),
        state=ScheduleState.PAUSED if request.paused else ScheduleState.ACTIVE,
        turn=None if request.paused else first,
    )


def schedule_for(job: JobRequest) -> ScheduleRequest:
    """Return the schedule that a job was submitted with, as one that makes the job."""
    asked = job.schedule or JobSchedule()
    fields = {field: getattr(asked, field) for field in asked.__struct_fields__}
    fields["name"] = asked.name if asked.name is not None else job.name
    return ScheduleRequest(**fields, job=replace(job, schedule=None))


def edited(view: ScheduleView, edit: ScheduleEdit) -> ScheduleRequest:
    """Return the request for a schedule with an edit applied; its own times stay exact."""
    rules = [field for field in ("cron", "interval", "run_at") if getattr(edit, field) is not UNSET]
    targets = [field for field in ("task", "job") if getattr(edit, field) is not UNSET]
    plain = request_of(view)
    if rules:
        plain = replace(plain, cron=None, interval=None, run_at=None)
    if targets:
        plain = replace(plain, task=None, job=None)
    given = {field: getattr(edit, field) for field in edit.__struct_fields__}
    return replace(plain, **{field: value for field, value in given.items() if value is not UNSET})


def request_of(view: ScheduleView) -> ScheduleRequest:
    """Return the request that would make this schedule."""
    rule, policy = view.rule, view.policy
    return ScheduleRequest(
        name=view.name,
        cron=rule.cron,
        interval=None if rule.interval_ms is None else rule.interval_ms / 1000,
        run_at=None if rule.run_at is None else to_datetime(rule.run_at),
        timezone=rule.timezone,
        task=view.target.task,
        job=view.target.job,
        misfire=policy.misfire,
        overlap=policy.overlap,
        start=None if rule.start is None else to_datetime(rule.start),
        end=None if rule.end is None else to_datetime(rule.end),
        jitter=policy.jitter_ms / 1000,
        max_runs=policy.max_runs,
    )


def rule_of(request: ScheduleRequest, *, now: Instant) -> Rule:
    """Return when a request wants to fire, or raise `Invalid`."""
    zone = zone_of(request.timezone)
    given = [field for field in ("cron", "interval", "run_at") if getattr(request, field) is not None]
    if not given:
        raise Invalid("is required, or interval, or run_at: something has to say when", field="cron")
    if len(given) > 1:
        raise Invalid(f"cannot be given together with {given[0]}: a schedule has one rule", field=given[1])
    start = None if request.start is None else to_instant(request.start, field="start")
    end = None if request.end is None else to_instant(request.end, field="end")
    if start is not None and end is not None and end < start:
        raise Invalid("is before start", field="end")
    return Rule(
        cron=None if request.cron is None else parse_cron(request.cron).text,
        interval_ms=None if request.interval is None else _interval_of(request.interval),
        run_at=None if request.run_at is None else to_instant(request.run_at, field="run_at"),
        timezone=zone.name,
        start=start,
        end=end,
        anchor=now if request.interval is not None and start is None else Instant(0),
    )


def policy_of(request: ScheduleRequest) -> FiringPolicy:
    """Return how a request wants to fire, or raise `Invalid`."""
    jitter = millis(parse_duration(request.jitter, field="jitter"))
    if jitter > LONGEST_JITTER_MS:
        raise Invalid("must be at most a day", field="jitter")
    if request.max_runs is not None and not 1 <= request.max_runs <= MOST_RUNS:
        raise Invalid(f"must be from 1 to {MOST_RUNS:,}", field="max_runs")
    return FiringPolicy(misfire=request.misfire, overlap=request.overlap, jitter_ms=jitter, max_runs=request.max_runs)


def first_turn(id: ScheduleId, rule: Rule, policy: FiringPolicy, now: Instant) -> Turn:
    """Return the first firing after `now`, or raise `Invalid` naming what keeps the rule from ever firing."""
    turn = turn_after(id, rule, policy, now)
    if turn is not None:
        return turn
    if rule.run_at is not None and rule.run_at <= now:
        raise Invalid("is in the past", field="run_at")
    if rule.end is not None and rule.end <= now:
        raise Invalid("is in the past", field="end")
    raise Invalid("never fires: there is no fire time between start and end", field="end" if rule.end else "start")


def turn_after(id: ScheduleId, rule: Rule, policy: FiringPolicy, instant: Instant) -> Turn | None:
    """Return the next firing after an instant; None if there is none any more."""
    fire_at = timetable(rule).next_after(instant)
    return None if fire_at is None else Turn(fire_at, due_at(id, policy, fire_at))


def due_at(id: ScheduleId, policy: FiringPolicy, fire_at: Instant) -> Instant:
    """Return when the firing for a time takes place, at `LATEST` at last. The jitter for a time is always the same."""
    if not policy.jitter_ms:
        return fire_at
    share = blake2b(f"{id}{fire_at}".encode(), digest_size=8).digest()
    return min(Instant(fire_at + int.from_bytes(share) % (policy.jitter_ms + 1)), LATEST)


def _interval_of(interval: float | str) -> int:
    every = millis(parse_duration(interval, field="interval"))
    if every < SHORTEST_INTERVAL_MS:
        raise Invalid("must be at least 1 second", field="interval")
    return every


def target_of(request: ScheduleRequest, *, tenant: str, limits: Limits) -> ScheduleTarget:
    """Return what a request wants to be made, or raise `Invalid`."""
    if request.task is not None and request.job is not None:
        raise Invalid("cannot be given together with task: a schedule makes one or the other", field="job")
    target = ScheduleTarget(task=request.task, job=request.job)
    check_target(target, tenant=tenant, limits=limits)
    return target


def check_target(
    target: ScheduleTarget, *, tenant: str, limits: Limits, rules: Mapping[str, TypeRules] = NO_RULES
) -> None:
    """Raise `Invalid` naming what of a target could not be made, also by the `rules` of its types."""
    if target.task is not None:
        _check_task(target.task, tenant, limits, rules.get(target.task.name, UNKNOWN_TYPE))
    elif target.job is not None:
        _check_job(target.job, tenant, limits, rules)
    else:
        raise Invalid("is required, or job: something has to be made", field="task")


def _check_task(task: TaskRequest, tenant: str, limits: Limits, rules: TypeRules) -> None:
    if task.run_at is not None:
        raise Invalid("is not for a schedule's task: each firing has its own time", field="task.run_at")
    if task.idempotency_key is not None or task.idempotency_key_alias is not None:
        raise Invalid("is not for a schedule's task: each firing is a task of its own", field="task.idempotency_key")
    if task.collapse is not None:
        raise Invalid("is not for a schedule's task: each firing is a task of its own", field="task.collapse")
    try:
        accept(task, id=_NO_ID, tenant=tenant, limits=limits, rules=rules)
    except Invalid as error:
        raise Invalid(error.message, field=f"task.{error.field}", code=error.code) from error


def _check_job(job: JobRequest, tenant: str, limits: Limits, rules: Mapping[str, TypeRules]) -> None:
    if job.idempotency_key is not None or job.idempotency_key_alias is not None:
        raise Invalid("is not for a schedule's job: each firing is a job of its own", field="job.idempotency_key")
    if job.schedule is not None:
        raise Invalid("is not for a schedule's job: this is the schedule", field="job.schedule")
    defaults = JobDefaults(rules=rules)
    try:
        accept_job(job, id=JobId(_NO_ID), new_id=lambda: _NO_ID, tenant=tenant, limits=limits, defaults=defaults)
    except Invalid as error:
        raise Invalid(error.message, field=f"job.{error.field}", code=error.code) from error
