"""What schedules and their runs look like in JSON, and how they get there."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from drumline.api.shapes import moment
from drumline.core.app_schedules import Registered
from drumline.core.clock import moment_of
from drumline.core.fires_by_day import DayFires
from drumline.core.firing_policy import Misfire, Overlap
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest
from drumline.core.rule_words import in_words
from drumline.core.schedule import RunKind, RunState, RunView, ScheduleState, ScheduleView
from drumline.core.task import TaskRequest
from drumline.core.timetable import FireTime
from drumline.core.views import Moment, TaskIdText
from drumline.engine.runs import Backfill
from drumline.engine.schedules import Preview

LocalMoment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A time by the clock of a zone, with its distance from UTC, such as 2026-03-29T03:00:00+02:00."""


class FireBody(Struct, frozen=True):
    """A fire time in UTC and by the schedule's clock, with a note where that clock is set forward or back just then."""

    utc: Moment
    local: LocalMoment
    note: str | None


class DayBody(Struct, frozen=True):
    """A day by the schedule's clock, and how often the schedule fires on it."""

    day: Annotated[str, Meta(extra_json_schema={"format": "date"})]
    count: int


class LastRunBody(Struct, frozen=True):
    """The last run that started."""

    fire_time: Moment
    status: str | None
    task_id: TaskIdText | None
    job_id: TaskIdText | None


class ScheduleBody(Struct, frozen=True, kw_only=True):
    """The state of a schedule. Times are UTC, durations seconds."""

    id: TaskIdText
    name: str
    words: str
    """When it fires, as people say it."""
    cron: str | None
    interval: float | None
    run_at: Moment | None
    timezone: str
    task: TaskRequest | None
    job: JobRequest | None
    misfire: Misfire
    overlap: Overlap
    start: Moment | None
    end: Moment | None
    jitter: float
    max_runs: int | None
    state: ScheduleState
    reason: str | None
    next_fire_at: Moment | None
    next_fires: tuple[FireBody, ...] | UnsetType = UNSET
    fires_by_day: tuple[DayBody, ...] | UnsetType = UNSET
    created_at: Moment
    changed_at: Moment
    runs: int
    skipped: int
    missed: int
    waiting: int
    last_run: LastRunBody | None
    app: str | None
    module: str | None


class ScheduleList(Struct, frozen=True):
    """A page of schedules, newest first."""

    items: tuple[ScheduleBody, ...]
    next_cursor: str | None


class RunBody(Struct, frozen=True, kw_only=True):
    """One firing. `status` is that of its task or job, WAITING or SKIPPED, or nothing if the task was pruned."""

    fire_time: Moment
    kind: RunKind
    status: str | None
    task_id: TaskIdText | None
    job_id: TaskIdText | None
    reason: str | None
    created_at: Moment
    start_at: Moment | None


class RunList(Struct, frozen=True):
    """A page of a schedule's runs, the latest fire time first."""

    items: tuple[RunBody, ...]
    next_cursor: str | None


class PreviewBody(Struct, frozen=True, kw_only=True):
    """When a rule fires next, in both zones."""

    words: str
    timezone: str
    items: tuple[FireBody, ...]


class BackfillBody(Struct, frozen=True, kw_only=True):
    """What a backfill is about: fire times in the span, and those among them that have no run and get one."""

    count: int
    missing: int
    first: Moment | None
    last: Moment | None
    ends_at: Moment | None
    """When the last run starts."""
    dry_run: bool


class DroppedBody(Struct, frozen=True):
    """How many runs that had not started were given up."""

    dropped: int


class RegisteredBody(Struct, frozen=True, kw_only=True):
    """What a registration did, by names. `refused` are names that schedules of others have."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    resumed: tuple[str, ...]
    paused: tuple[str, ...]
    refused: tuple[str, ...]


def schedule_body(
    view: ScheduleView,
    statuses: Mapping[str, str],
    *,
    next_fires: Sequence[FireTime] | None = None,
    by_day: Sequence[DayFires] | None = None,
) -> ScheduleBody:
    """Return a schedule as JSON shows it."""
    rule, policy = view.rule, view.policy
    return ScheduleBody(
        id=view.id,
        name=view.name,
        words=in_words(rule),
        cron=rule.cron,
        interval=None if rule.interval_ms is None else rule.interval_ms / 1000,
        run_at=moment(rule.run_at),
        timezone=rule.timezone,
        task=view.target.task,
        job=view.target.job,
        misfire=policy.misfire,
        overlap=policy.overlap,
        start=moment(rule.start),
        end=moment(rule.end),
        jitter=policy.jitter_ms / 1000,
        max_runs=policy.max_runs,
        state=view.state,
        reason=view.reason,
        next_fire_at=None if view.turn is None else moment_of(view.turn.fire_at),
        next_fires=UNSET if next_fires is None else tuple(fire_body(one) for one in next_fires),
        fires_by_day=UNSET if by_day is None else tuple(DayBody(one.day.isoformat(), one.count) for one in by_day),
        created_at=moment_of(view.created_at),
        changed_at=moment_of(view.changed_at),
        runs=view.runs,
        skipped=view.skipped,
        missed=view.missed,
        waiting=view.waiting,
        last_run=_last_run(view, statuses),
        app=None if view.origin is None else view.origin.app,
        module=None if view.origin is None else view.origin.module,
    )


def fire_body(time: FireTime) -> FireBody:
    """Return a fire time as JSON shows it."""
    return FireBody(moment_of(time.instant), time.local.isoformat(timespec="seconds"), time.note)


def run_body(run: RunView, statuses: Mapping[str, str]) -> RunBody:
    """Return a run as JSON shows it."""
    is_started = run.state is RunState.STARTED
    return RunBody(
        fire_time=moment_of(run.fire_time),
        kind=run.kind,
        status=_status(run.task, run.job, statuses) if is_started else run.state.value.upper(),
        task_id=run.task,
        job_id=run.job,
        reason=run.reason,
        created_at=moment_of(run.created_at),
        start_at=moment(run.start_at),
    )


def preview_body(preview: Preview) -> PreviewBody:
    """Return a preview as JSON shows it."""
    return PreviewBody(
        words=in_words(preview.rule),
        timezone=preview.rule.timezone,
        items=tuple(fire_body(time) for time in preview.times),
    )


def backfill_body(backfill: Backfill, *, dry_run: bool) -> BackfillBody:
    """Return a backfill as JSON shows it."""
    return BackfillBody(
        count=backfill.count,
        missing=backfill.missing,
        first=moment(backfill.first),
        last=moment(backfill.last),
        ends_at=moment(backfill.ends_at),
        dry_run=dry_run,
    )


def registered_body(done: Registered) -> RegisteredBody:
    """Return what a registration did as JSON shows it."""
    return RegisteredBody(
        created=done.created, changed=done.changed, resumed=done.resumed, paused=done.paused, refused=done.refused
    )


def _last_run(view: ScheduleView, statuses: Mapping[str, str]) -> LastRunBody | None:
    if view.last_fire_time is None:
        return None
    status = _status(view.last_task, view.last_job, statuses)
    return LastRunBody(moment_of(view.last_fire_time), status, view.last_task, view.last_job)


def _status(task: TaskId | None, job: JobId | None, statuses: Mapping[str, str]) -> str | None:
    made = task or job
    return None if made is None else statuses.get(made)
