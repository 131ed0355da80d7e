"""Accepting an alert rule, and changes of one: everything is checked before anything is stored."""

import math
import re
from typing import Annotated, ClassVar, Final, NamedTuple

from msgspec import UNSET, Struct, UnsetType, field

from drumline.core.alert import OF_SECONDS, AlertCondition, AlertMeasure, AlertRule, Severity
from drumline.core.duration import Duration, format_millis, millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.field_schema import QUEUE, TIME, UUID, Schema, about, duration, duration_schemas, line
from drumline.core.ids import parse_task_id
from drumline.core.names import check_name, check_queue
from drumline.core.triage import LONGEST_NOTE, NOTE_PATTERN, check_note

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
LONGEST_HOLD: Final = 24 * HOUR
MOST_LEAST: Final = 1_000_000
MOST_BACKLOG: Final = 1e12
MOST_BURN: Final = 1000.0
LONGEST_NUMBER: Final = 32

_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%")


class Bounds(NamedTuple):
    """The windows that a measure can have, in milliseconds."""

    least: int
    most: int
    usual: int


WINDOWS: Final = {
    AlertMeasure.FAILURE_RATE: Bounds(MINUTE, 24 * HOUR, 5 * MINUTE),
    AlertMeasure.WAIT_P95: Bounds(MINUTE, 24 * HOUR, 5 * MINUTE),
    AlertMeasure.RUN_P95: Bounds(MINUTE, 24 * HOUR, 5 * MINUTE),
    AlertMeasure.BACKLOG: Bounds(MINUTE, 24 * HOUR, 5 * MINUTE),
    AlertMeasure.LATE_SCHEDULE: Bounds(MINUTE, 6 * HOUR, HOUR),
    AlertMeasure.BURN_RATE: Bounds(HOUR, 72 * HOUR, HOUR),
}
"""`oldest_wait` has none."""
COUNTING: Final = frozenset(
    {AlertMeasure.FAILURE_RATE, AlertMeasure.WAIT_P95, AlertMeasure.RUN_P95, AlertMeasure.BURN_RATE}
)
"""Measures that need a number of tasks."""

_THRESHOLD: Final = about(
    "Above it the rule is breached. A share such as 0.05 or `5%` for `failure_rate`; seconds or a duration such as "
    "`30s` for `wait_p95`, `run_p95`, `oldest_wait` and `late_schedule`; a number of tasks for `backlog`; a multiple "
    "for `burn_rate`.",
    anyOf=[
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": r"^[0-9]{1,2}%$"},
        {"type": "string", "pattern": r"^[1-9][0-9]?[sm]$"},
    ],
    examples=["5%", "30s", 1000],
)
_WINDOW: Final = duration(
    "The time that is looked at: from 1m to 24h, 5m if not given; `late_schedule` from 1m to 6h, 1h if not given; "
    "`burn_rate` from 1h to 72h, 1h if not given; none for `oldest_wait`.",
    least=60,
)
_FOR: Final = duration("How long it has to be breached without a break before it fires, at most 24h.")
_LEAST: Final = about(
    "How many tasks there have to be in the window: with fewer, nothing is breached. Not for `backlog`, `oldest_wait` "
    "and `late_schedule`.",
    minimum=1,
    maximum=MOST_LEAST,
)
_NOTE: Final = about(
    "What to do about it; it is part of the notification.", type="string", maxLength=LONGEST_NOTE, pattern=NOTE_PATTERN
)
_SCHEDULE: Final = "For `late_schedule`: only the schedule of this name."


class AlertRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rule that is asked for."""

    name: Annotated[str, line(description="What people call it; one of a name.")]
    measure: AlertMeasure
    threshold: Annotated[float | str, _THRESHOLD]
    window: Annotated[float | str | None, _WINDOW] = None
    hold: Annotated[float | str, _FOR] = field(name="for", default=0.0)
    least: Annotated[int, _LEAST] = 1
    severity: Severity = Severity.WARNING
    task: Annotated[str | None, line(description="Only tasks of this name.")] = None
    queue: Annotated[str | None, about("Only tasks in this queue.", **QUEUE)] = None
    schedule: Annotated[str | None, line(description=_SCHEDULE)] = None
    slo: Annotated[str | None, about("For `burn_rate`: the id of the objective.", **UUID)] = None
    note: Annotated[str | None, _NOTE] = None
    enabled: Annotated[bool, about("Whether it is evaluated.")] = True


class AlertPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changes to a rule: absent fields stay, and null removes what is optional."""

    SCHEMA: ClassVar[Schema] = {"minProperties": 1}

    name: Annotated[str | UnsetType, line()] = UNSET
    threshold: Annotated[float | str | UnsetType, _THRESHOLD] = UNSET
    window: Annotated[float | str | UnsetType, _WINDOW] = UNSET
    hold: Annotated[float | str | UnsetType, _FOR] = field(name="for", default=UNSET)
    least: Annotated[int | UnsetType, _LEAST] = UNSET
    severity: Severity | UnsetType = UNSET
    task: Annotated[str | UnsetType | None, line(description="Only tasks of this name.")] = UNSET
    queue: Annotated[str | UnsetType | None, about("Only tasks in this queue.", **QUEUE)] = UNSET
    schedule: Annotated[str | UnsetType | None, line(description=_SCHEDULE)] = UNSET
    note: Annotated[str | UnsetType | None, _NOTE] = UNSET
    enabled: bool | UnsetType = UNSET
    muted_until: Annotated[
        str | float | UnsetType | None,
        about(
            "Until when nobody is notified, as a time or as a duration from now; null ends it.",
            anyOf=[TIME, *duration_schemas()],
            examples=["2h", "2030-01-02T03:04:05Z"],
        ),
    ] = UNSET  # fmt: skip


def accept_condition(request: AlertRequest) -> AlertCondition:
    """Return the condition of a rule that is asked for, or raise `Invalid` naming the field at fault."""
    measure = request.measure
    _check_scope(request)
    if not 1 <= request.least <= MOST_LEAST:
        raise Invalid(f"must be from 1 to {MOST_LEAST:,}", field="least")
    if request.least != 1 and measure not in COUNTING:
        raise Invalid(f"is not for {measure.value}", field="least")
    threshold = _threshold(measure, request.threshold)
    window = _window(measure, request.window)
    if measure is AlertMeasure.LATE_SCHEDULE and threshold * 1000 >= window:
        raise Invalid(f"must be less than the window, {format_millis(window)}", field="threshold")
    hold = millis(parse_duration(request.hold, field="for"))
    if hold > LONGEST_HOLD:
        raise Invalid("must be at most 24h", field="for")
    return AlertCondition(
        measure=measure,
        threshold=threshold,
        window=window,
        hold=hold,
        least=request.least,
        severity=request.severity,
        task=None if request.task is None else check_name(request.task, field="task"),
        queue=None if request.queue is None else check_queue(request.queue),
        schedule=None if request.schedule is None else check_name(request.schedule, field="schedule"),
        note=check_note(request.note) or None if request.note is not None else None,
    )


def patched(rule: AlertRule, patch: AlertPatch) -> AlertRequest:
    """Return the request that a rule would be after a change."""
    old = rule.condition
    is_windowless = old.measure is AlertMeasure.OLDEST_WAIT
    kept = AlertRequest(
        name=rule.name,
        measure=old.measure,
        threshold=old.threshold,
        window=None if is_windowless else old.window / 1000,
        hold=old.hold / 1000,
        least=old.least,
        severity=old.severity,
        task=None if rule.slo else old.task,
        queue=None if rule.slo else old.queue,
        schedule=old.schedule,
        slo=rule.slo,
        note=old.note,
        enabled=rule.is_enabled,
    )
    names = [name for name in AlertPatch.__struct_fields__ if name != "muted_until"]
    given = {name: value for name in names if (value := getattr(patch, name)) is not UNSET}
    return AlertRequest(**({name: getattr(kept, name) for name in AlertRequest.__struct_fields__} | given))


def _check_scope(request: AlertRequest) -> None:
    measure = request.measure
    is_burn, is_late = measure is AlertMeasure.BURN_RATE, measure is AlertMeasure.LATE_SCHEDULE
    for name, value in (("task", request.task), ("queue", request.queue)):
        if value is not None and (is_burn or is_late):
            raise Invalid(f"is not for {measure.value}", field=name)
    if request.schedule is not None and not is_late:
        raise Invalid("is for late_schedule only", field="schedule")
    if is_burn != (request.slo is not None):
        raise Invalid("must be the id of an objective" if is_burn else "is for burn_rate only", field="slo")
    if request.slo is not None:
        parse_task_id(request.slo, field="slo")


def _threshold(measure: AlertMeasure, given: Duration) -> float:
    if measure in OF_SECONDS:
        return parse_duration(given, field="threshold").total_seconds()
    if measure is AlertMeasure.FAILURE_RATE:
        share = _share(given)
        if not 0 <= share < 1:
            raise Invalid("must be a share from 0 to below 1, or per cent such as 5%", field="threshold")
        return share
    most = MOST_BURN if measure is AlertMeasure.BURN_RATE else MOST_BACKLOG
    number = _number(given)
    if not 0 <= number <= most:
        raise Invalid(f"must be a number from 0 to {most:,.0f}", field="threshold")
    return number


def _share(given: Duration) -> float:
    percent = _PERCENT.fullmatch(given) if isinstance(given, str) else None
    return float(percent[1]) / 100 if percent else _number(given)


def _number(given: Duration) -> float:
    """Return a number, written as one or as text; what is none is refused by every range."""
    if isinstance(given, str) and len(given) > LONGEST_NUMBER:
        return math.nan
    try:
        return float(given)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return math.nan


def _window(measure: AlertMeasure, given: float | str | None) -> int:
    bounds = WINDOWS.get(measure)
    if bounds is None:
        if given is not None:
            raise Invalid(f"is not for {measure.value}", field="window")
        return 0
    window = bounds.usual if given is None else millis(parse_duration(given, field="window"))
    if not bounds.least <= window <= bounds.most:
        raise Invalid(f"must be from {format_millis(bounds.least)} to {format_millis(bounds.most)}", field="window")
    return window
