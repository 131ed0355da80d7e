"""Alerts: rules about statistics of tasks, and how one passes from ok to firing and back.

A rule compares one value with its threshold. `decide` is the whole state machine; the store applies its steps, each
only to a rule that nobody changed since it was read, so that each change of state happens once.
"""

from enum import IntEnum, StrEnum
from typing import Any, Final, NewType

from msgspec import Struct

from drumline.core.clock import Instant, moment_of
from drumline.core.duration import format_millis
from drumline.core.event import Fact

AlertId = NewType("AlertId", str)
SloId = NewType("SloId", str)

MOST_RULES: Final = 200
"""Rules of one tenant."""
MOST_INCIDENTS: Final = 100
"""Incidents that are kept of one rule."""
LONGEST_EVERY: Final = 60_000
SHORTEST_EVERY: Final = 15_000
WINDOW_SHARE: Final = 20
SHORT_WINDOW: Final = 12
"""The short window of a burn rate is so many times shorter than the long one."""

ALERT_FIRED: Final = "drumline.alert.fired"
ALERT_RESOLVED: Final = "drumline.alert.resolved"


class AlertMeasure(StrEnum):
    """What a rule looks at."""

    FAILURE_RATE = "failure_rate"
    """The share of the tasks that ended in the window that failed for good."""
    WAIT_P95 = "wait_p95"
    """Seconds from when tasks were due to their start, the 95th percentile of those that started in the window."""
    RUN_P95 = "run_p95"
    """Seconds that executions took, the 95th percentile of those that ended in the window."""
    BACKLOG = "backlog"
    """Tasks that are due and wait, on average over the window."""
    OLDEST_WAIT = "oldest_wait"
    """Seconds that the task that has been due for longest has waited by now."""
    LATE_SCHEDULE = "late_schedule"
    """Seconds by which the latest fire that has not begun is late, of the fires of the window."""
    BURN_RATE = "burn_rate"
    """How many times faster than allowed the error budget of an objective is spent: the lesser of two windows."""


OF_SECONDS: Final = frozenset(
    {AlertMeasure.WAIT_P95, AlertMeasure.RUN_P95, AlertMeasure.OLDEST_WAIT, AlertMeasure.LATE_SCHEDULE}
)
"""Measures in seconds."""
GROWING: Final = frozenset({AlertMeasure.BACKLOG, AlertMeasure.OLDEST_WAIT, AlertMeasure.LATE_SCHEDULE})
"""Measures of which a part is a lower bound of the whole: what a part of the tasks breaches, all of them breach."""


class Severity(StrEnum):
    """How bad it is."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class AlertState(IntEnum):
    """Where a rule stands. The numbers are stored: never reuse one."""

    OK = 0
    PENDING = 1
    """Above the threshold, and not yet for as long as it has to be."""
    FIRING = 2
    RESOLVED = 3
    """It has fired, and is ok again."""

    @property
    def word(self) -> str:
        """The state as the API writes it."""
        return self.name.lower()


class AlertCondition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a rule looks at, and from when on it fires. Durations are milliseconds."""

    measure: AlertMeasure
    threshold: float
    """The rule is breached by values above it."""
    window: int
    hold: int = 0
    """How long it has to be breached before it fires."""
    least: int = 1
    """How many tasks there have to be in the window; with fewer there is no value."""
    severity: Severity = Severity.WARNING
    task: str | None = None
    queue: str | None = None
    schedule: str | None = None
    """The name of a schedule."""
    note: str | None = None

    @property
    def every(self) -> int:
        """How often it is evaluated: the longer the window of statistics, the less often."""
        if self.measure in {AlertMeasure.OLDEST_WAIT, AlertMeasure.LATE_SCHEDULE}:
            return SHORTEST_EVERY
        return min(max(self.window // WINDOW_SHARE, SHORTEST_EVERY), LONGEST_EVERY)


class AlertRule(Struct, frozen=True, kw_only=True):
    """A rule and where it stands."""

    id: AlertId
    tenant: str
    name: str
    condition: AlertCondition
    created_at: Instant
    slo: SloId | None = None
    """The objective whose burn rate it watches."""
    is_enabled: bool = True
    muted_until: Instant | None = None
    turn: int = 0
    """Rises with every change: a step that was decided for an earlier turn is not applied."""
    state: AlertState = AlertState.OK
    since: Instant
    """When it came into its state."""
    is_told: bool = False
    """Whether it fires and its event was written: a muted rule is told when the mute ends, if it still fires."""
    value: float | None = None
    evaluated_at: Instant | None = None

    def is_muted(self, now: Instant) -> bool:
        """Tell whether its changes are not told just now."""
        return self.muted_until is not None and now < self.muted_until


class NewAlertRule(Struct, frozen=True, kw_only=True):
    """A validated rule on its way into the store."""

    id: AlertId
    tenant: str
    name: str
    condition: AlertCondition
    slo: SloId | None = None
    is_enabled: bool = True


class AlertChange(Struct, frozen=True, kw_only=True):
    """A change of a rule; what is None stays. Another condition begins anew, at ok."""

    name: str | None = None
    condition: AlertCondition | None = None
    is_enabled: bool | None = None
    sets_mute: bool = False
    muted_until: Instant | None = None


class AlertStep(Struct, frozen=True, kw_only=True):
    """What came of evaluating a rule: where it stands now."""

    rule: AlertRule
    """As it was."""
    state: AlertState
    since: Instant
    is_told: bool
    value: float | None
    at: Instant
    reason: str | None = None
    """Why it is resolved, if that is not because the value is below the threshold."""

    @property
    def changes(self) -> bool:
        """Whether there is more to write than the value."""
        return (self.state, self.is_told) != (self.rule.state, self.rule.is_told)

    @property
    def is_breached(self) -> bool:
        """Whether the value is above the threshold."""
        return self.state in {AlertState.PENDING, AlertState.FIRING}

    @property
    def fires(self) -> bool:
        """Whether it begins to fire."""
        return self.state is AlertState.FIRING and self.rule.state is not AlertState.FIRING

    @property
    def resolves(self) -> bool:
        """Whether it fired until now."""
        return self.rule.state is AlertState.FIRING and self.state is not AlertState.FIRING

    def fact(self) -> Fact | None:
        """Return the event of the step, if it is to be told."""
        if self.is_told and not self.rule.is_told:
            return _fact(ALERT_FIRED, self)
        if self.resolves and self.rule.is_told:
            return _fact(ALERT_RESOLVED, self)
        return None


class Incident(Struct, frozen=True, kw_only=True):
    """One time that a rule fired."""

    rule: AlertId
    tenant: str
    name: str
    severity: Severity
    fired_at: Instant
    resolved_at: Instant | None
    value: float
    """The value with which it began to fire."""
    peak: float
    reason: str | None


def decide(rule: AlertRule, value: float | None, *, now: Instant) -> AlertStep:
    """Return where a rule stands with this value; None, when there is nothing to measure, breaches nothing."""
    condition = rule.condition
    is_breached = value is not None and value > condition.threshold
    state, since = rule.state, rule.since
    if not is_breached:
        state = AlertState.RESOLVED if rule.state in {AlertState.FIRING, AlertState.RESOLVED} else AlertState.OK
    elif rule.state is not AlertState.FIRING:
        breached_since = rule.since if rule.state is AlertState.PENDING else now
        state = AlertState.FIRING if now - breached_since >= condition.hold else AlertState.PENDING
    if state is not rule.state:
        since = now
    is_told = state is AlertState.FIRING and (rule.is_told or not rule.is_muted(now))
    return AlertStep(rule=rule, state=state, since=since, is_told=is_told, value=value, at=now)


def ended(rule: AlertRule, *, now: Instant, reason: str) -> AlertStep:
    """Return the step that ends whatever a rule is doing, because it was changed, paused or deleted."""
    was_firing = rule.state is AlertState.FIRING
    state = AlertState.RESOLVED if was_firing else AlertState.OK
    return AlertStep(rule=rule, state=state, since=now, is_told=False, value=None, at=now, reason=reason)


def shown_value(measure: AlertMeasure, value: float) -> str:
    """Return a value as people read it."""
    if measure is AlertMeasure.FAILURE_RATE:
        return f"{value * 100:.3g} %"
    if measure in OF_SECONDS:
        return format_millis(round(value * 1000) if value < 60 else round(value) * 1000)
    return f"{value:.3g}x" if measure is AlertMeasure.BURN_RATE else f"{value:,.0f}"


_WORDS: Final = {
    AlertMeasure.FAILURE_RATE: "failure rate",
    AlertMeasure.WAIT_P95: "p95 of waiting",
    AlertMeasure.RUN_P95: "p95 of running",
    AlertMeasure.BACKLOG: "backlog",
    AlertMeasure.OLDEST_WAIT: "oldest due task",
    AlertMeasure.LATE_SCHEDULE: "late fires",
    AlertMeasure.BURN_RATE: "burn rate",
}


def describe(condition: AlertCondition) -> str:
    """Return a condition as a sentence without its end: `failure rate of task charge above 5 % over 5m, for 10m`."""
    scope = [f"{word} {name}" for word, name in _scope(condition).items() if name is not None]
    of = f" of {', '.join(scope)}" if scope else ""
    over = "" if condition.measure is AlertMeasure.OLDEST_WAIT else f" over {format_millis(condition.window)}"
    hold = f", for {format_millis(condition.hold)}" if condition.hold else ""
    limit = shown_value(condition.measure, condition.threshold)
    return f"{_WORDS[condition.measure]}{of} above {limit}{over}{hold}"


def _scope(condition: AlertCondition) -> dict[str, str | None]:
    return {"task": condition.task, "queue": condition.queue, "schedule": condition.schedule}


def _fact(type_: str, step: AlertStep) -> Fact:
    rule, condition = step.rule, step.rule.condition
    now = "no data" if step.value is None else shown_value(condition.measure, step.value)
    data: dict[str, Any] = {
        "name": rule.name,
        "severity": condition.severity.value,
        "measure": condition.measure.value,
        "value": step.value,
        "threshold": condition.threshold,
        "since": moment_of(step.since if type_ == ALERT_FIRED else rule.since),
        "message": f"{describe(condition)}: now {now}",
        **{word: name for word, name in _scope(condition).items() if name is not None},
    }
    more = {"slo": rule.slo, "note": condition.note, "reason": step.reason}
    data |= {word: text for word, text in more.items() if text is not None}
    return Fact(type_, rule.id, rule.tenant, data)
