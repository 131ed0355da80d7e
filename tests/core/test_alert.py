"""The states of an alert."""

import pytest
from msgspec.structs import replace

from drumline.core.alert import (
    AlertCondition,
    AlertId,
    AlertMeasure,
    AlertRule,
    AlertState,
    AlertStep,
    SloId,
    decide,
    describe,
    ended,
    shown_value,
)
from drumline.core.clock import Instant

MINUTE = 60_000
RATE = AlertCondition(
    measure=AlertMeasure.FAILURE_RATE, threshold=0.05, window=5 * MINUTE, hold=2 * MINUTE, task="charge"
)


def rule(**fields: object) -> AlertRule:
    made = AlertRule(
        id=AlertId("r"), tenant="default", name="n", condition=RATE, created_at=Instant(0), since=Instant(0)
    )
    return replace(made, **fields)


def after(old: AlertRule, value: float | None, minute: float) -> tuple[AlertRule, AlertStep]:
    step = decide(old, value, now=Instant(int(minute * MINUTE)))
    return replace(old, state=step.state, since=step.since, is_told=step.is_told), step


def told(*values: float | None, start: AlertRule | None = None) -> list[str]:
    """Return the states minute by minute, and what is told."""
    now, found = start or rule(), []
    for minute, value in enumerate(values, start=1):
        now, step = after(now, value, minute)
        fact = step.fact()
        found.append(step.state.word + (f" {fact.type.rpartition('.')[2]}" if fact else ""))
    return found


def test_it_fires_once_it_has_been_breached_for_long_enough() -> None:
    assert told(0.01, 0.2, 0.3, 0.4, 0.9, 0.0, 0.0) == [
        "ok", "pending", "pending", "firing fired", "firing", "resolved resolved", "resolved",
    ]  # fmt: skip


def test_a_break_begins_the_wait_again() -> None:
    assert told(0.2, 0.2, 0.0, 0.2, 0.2, 0.2) == ["pending", "pending", "ok", "pending", "pending", "firing fired"]


def test_without_a_wait_it_fires_at_once() -> None:
    assert told(0.2, start=rule(condition=replace(RATE, hold=0))) == ["firing fired"]


def test_the_threshold_itself_is_no_breach_and_neither_is_nothing() -> None:
    assert told(0.05, None) == ["ok", "ok"]


def test_what_fired_is_resolved_when_there_is_nothing_to_measure() -> None:
    assert told(None, start=rule(state=AlertState.FIRING, is_told=True)) == ["resolved resolved"]


def test_it_fires_again_after_it_was_resolved() -> None:
    assert told(0.2, 0.2, 0.2, start=rule(state=AlertState.RESOLVED)) == ["pending", "pending", "firing fired"]


def test_a_muted_rule_fires_in_silence_and_is_told_when_the_mute_ends() -> None:
    muted = rule(condition=replace(RATE, hold=0), muted_until=Instant(3 * MINUTE))

    assert told(0.2, 0.2, 0.2, 0.2, 0.0, start=muted) == [
        "firing", "firing", "firing fired", "firing", "resolved resolved",
    ]  # fmt: skip
    assert told(0.2, 0.0, 0.0, start=muted) == ["firing", "resolved", "resolved"]


def test_a_mute_during_a_fire_does_not_keep_its_end_from_being_told() -> None:
    firing = rule(state=AlertState.FIRING, is_told=True, muted_until=Instant(99 * MINUTE))

    assert told(0.2, 0.0, start=firing) == ["firing", "resolved resolved"]


def test_the_end_of_a_rule_is_told_only_if_its_fire_was() -> None:
    now = Instant(MINUTE)
    firing = ended(rule(state=AlertState.FIRING, is_told=True), now=now, reason="deleted").fact()

    assert firing is not None
    assert firing.data["reason"] == "deleted"
    assert ended(rule(state=AlertState.FIRING), now=now, reason="deleted").fact() is None
    assert ended(rule(state=AlertState.PENDING), now=now, reason="deleted").fact() is None


@pytest.mark.parametrize(
    ("state", "left"),
    [
        (AlertState.FIRING, AlertState.RESOLVED), (AlertState.PENDING, AlertState.OK), (AlertState.OK, AlertState.OK),
        (AlertState.RESOLVED, AlertState.OK),
    ],
)  # fmt: skip
def test_a_rule_that_ends_is_left_resolved_if_it_fired_and_else_ok(state: AlertState, left: AlertState) -> None:
    old, now = rule(state=state, is_told=True), Instant(MINUTE)

    assert ended(old, now=now, reason="paused") == AlertStep(
        rule=old, state=left, since=now, is_told=False, value=None, at=now, reason="paused"
    )


def test_a_step_has_the_time_at_which_it_was_decided() -> None:
    assert decide(rule(), 0.01, now=Instant(MINUTE)).at == MINUTE


def test_the_event_of_an_end_has_the_time_from_which_on_it_fired_and_its_objective() -> None:
    fired = rule(state=AlertState.FIRING, is_told=True, since=Instant(MINUTE), slo=SloId("s"))

    fact = decide(fired, None, now=Instant(3 * MINUTE)).fact()

    assert fact is not None
    assert fact.type == "drumline.alert.resolved"
    assert (fact.data["since"], fact.data["slo"]) == ("1970-01-01T00:01:00.000Z", "s")
    assert fact.data["message"].endswith(": now no data")


@pytest.mark.parametrize(
    ("measure", "value", "shown"),
    [
        (AlertMeasure.FAILURE_RATE, 0.12345, "12.3 %"),
        (AlertMeasure.RUN_P95, 59.4567, "59.457s"),
        (AlertMeasure.RUN_P95, 60.4, "1m"),
        (AlertMeasure.RUN_P95, 60.6, "1m1s"),
        (AlertMeasure.BACKLOG, 12345.6, "12,346"),
        (AlertMeasure.BURN_RATE, 14.444, "14.4x"),
    ],
)
def test_a_value_is_shown_as_exactly_as_people_need_it(measure: AlertMeasure, value: float, shown: str) -> None:
    assert shown_value(measure, value) == shown


def test_an_event_says_what_is_wrong() -> None:
    fact = decide(rule(condition=replace(RATE, hold=0, note="call ada")), 0.125, now=Instant(MINUTE)).fact()

    assert fact is not None
    assert (fact.type, fact.subject, fact.tenant) == ("drumline.alert.fired", "r", "default")
    assert fact.data == {
        "name": "n",
        "severity": "warning",
        "measure": "failure_rate",
        "value": 0.125,
        "threshold": 0.05,
        "since": "1970-01-01T00:01:00.000Z",
        "message": "failure rate of task charge above 5 % over 5m: now 12.5 %",
        "task": "charge",
        "note": "call ada",
    }


def test_a_condition_is_read_as_a_sentence() -> None:
    oldest = AlertCondition(measure=AlertMeasure.OLDEST_WAIT, threshold=90, window=0, queue="mail")
    late = AlertCondition(measure=AlertMeasure.LATE_SCHEDULE, threshold=30, window=60 * MINUTE, schedule="nightly")
    depth = AlertCondition(measure=AlertMeasure.BACKLOG, threshold=1000, window=5 * MINUTE)

    assert describe(RATE) == "failure rate of task charge above 5 % over 5m, for 2m"
    assert describe(oldest) == "oldest due task of queue mail above 1m30s"
    assert describe(late) == "late fires of schedule nightly above 30s over 1h"
    assert describe(depth) == "backlog above 1,000 over 5m"
    both = replace(depth, task="charge", queue="mail")
    assert describe(both) == "backlog of task charge, queue mail above 1,000 over 5m"
