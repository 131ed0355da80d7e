"""Which alert rules are accepted, and what a change leaves as it was."""

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from drumline.core.accept_alert import AlertPatch, AlertRequest, accept_condition, patched
from drumline.core.alert import AlertCondition, AlertId, AlertMeasure, AlertRule, Severity, SloId
from drumline.core.clock import Instant
from drumline.core.errors import Invalid

MINUTE = 60_000
HOUR = 60 * MINUTE
SLO = "01890a5d-ac96-774b-bcce-b302099a8057"
THRESHOLDS: dict[AlertMeasure, float | str] = {
    AlertMeasure.FAILURE_RATE: "5%", AlertMeasure.WAIT_P95: "30s", AlertMeasure.RUN_P95: 1.5,
    AlertMeasure.BACKLOG: 1000, AlertMeasure.OLDEST_WAIT: "2m", AlertMeasure.LATE_SCHEDULE: "1m",
    AlertMeasure.BURN_RATE: 14.4,
}  # fmt: skip


def asked(measure: AlertMeasure, **fields: Any) -> AlertRequest:
    slo = SLO if measure is AlertMeasure.BURN_RATE else None
    return replace(AlertRequest(name="n", measure=measure, threshold=THRESHOLDS[measure], slo=slo), **fields)


@pytest.mark.parametrize(
    ("measure", "threshold", "window"),
    [
        (AlertMeasure.FAILURE_RATE, 0.05, 5 * MINUTE),
        (AlertMeasure.WAIT_P95, 30.0, 5 * MINUTE),
        (AlertMeasure.RUN_P95, 1.5, 5 * MINUTE),
        (AlertMeasure.BACKLOG, 1000.0, 5 * MINUTE),
        (AlertMeasure.OLDEST_WAIT, 120.0, 0),
        (AlertMeasure.LATE_SCHEDULE, 60.0, HOUR),
        (AlertMeasure.BURN_RATE, 14.4, HOUR),
    ],
)
def test_a_rule_that_says_only_its_threshold_has_the_usual_window(
    measure: AlertMeasure, threshold: float, window: int
) -> None:
    assert accept_condition(asked(measure)) == AlertCondition(measure=measure, threshold=threshold, window=window)


def test_a_rule_has_all_that_it_says() -> None:
    fields: dict[str, Any] = {
        "least": 20,
        "severity": Severity.CRITICAL,
        "task": "charge",
        "queue": "q",
        "note": "call",
    }
    found = accept_condition(asked(AlertMeasure.RUN_P95, window="10m", hold="2m", **fields))
    assert found == AlertCondition(
        measure=AlertMeasure.RUN_P95, threshold=1.5, window=10 * MINUTE, hold=2 * MINUTE, **fields
    )
    late = accept_condition(asked(AlertMeasure.LATE_SCHEDULE, schedule="nightly", note=""))
    assert (late.schedule, late.note) == ("nightly", None)


@pytest.mark.parametrize(
    ("measure", "given", "threshold"),
    [
        (AlertMeasure.FAILURE_RATE, 0, 0.0),
        (AlertMeasure.FAILURE_RATE, 0.25, 0.25),
        (AlertMeasure.FAILURE_RATE, "0.25", 0.25),
        (AlertMeasure.FAILURE_RATE, "12.5 %", 0.125),
        (AlertMeasure.FAILURE_RATE, "99.999999%", 0.99999999),
        (AlertMeasure.BACKLOG, 0, 0.0),
        (AlertMeasure.BACKLOG, "5", 5.0),
        (AlertMeasure.BACKLOG, 1e12, 1e12),
        (AlertMeasure.BACKLOG, "1" + " " * 31, 1.0),
        (AlertMeasure.BURN_RATE, 1000, 1000.0),
    ],
)
def test_a_threshold_is_a_number_or_a_share(measure: AlertMeasure, given: float | str, threshold: float) -> None:
    assert accept_condition(asked(measure, threshold=given)).threshold == pytest.approx(threshold, rel=1e-12)


SHARE = "must be a share from 0 to below 1, or per cent such as 5%"
BACKLOG = "must be a number from 0 to 1,000,000,000,000"


@pytest.mark.parametrize(
    ("measure", "given", "message"),
    [
        (AlertMeasure.FAILURE_RATE, 1, SHARE),
        (AlertMeasure.FAILURE_RATE, "100%", SHARE),
        (AlertMeasure.FAILURE_RATE, -0.1, SHARE),
        (AlertMeasure.FAILURE_RATE, "x5%", SHARE),
        (AlertMeasure.FAILURE_RATE, "nan", SHARE),
        (AlertMeasure.BACKLOG, -1, BACKLOG),
        (AlertMeasure.BACKLOG, 2e12, BACKLOG),
        (AlertMeasure.BACKLOG, "many", BACKLOG),
        (AlertMeasure.BACKLOG, "1" + " " * 32, BACKLOG),
        (AlertMeasure.BACKLOG, 10**400, BACKLOG),
        (AlertMeasure.BURN_RATE, 1001, "must be a number from 0 to 1,000"),
        (AlertMeasure.LATE_SCHEDULE, "1h", "must be less than the window, 1h"),
    ],
)
def test_a_threshold_that_nothing_can_exceed_is_refused(
    measure: AlertMeasure, given: float | str, message: str
) -> None:
    with pytest.raises(Invalid) as caught:
        accept_condition(asked(measure, threshold=given))
    assert (caught.value.field, caught.value.message) == ("threshold", message)


def test_a_threshold_that_is_no_duration_is_refused_where_it_has_to_be_one() -> None:
    with pytest.raises(Invalid) as caught:
        accept_condition(asked(AlertMeasure.RUN_P95, threshold="x"))
    assert caught.value.field == "threshold"


def test_a_schedule_may_be_late_by_almost_the_window() -> None:
    assert accept_condition(asked(AlertMeasure.LATE_SCHEDULE, threshold=3599.999)).threshold == 3599.999


@pytest.mark.parametrize(
    ("measure", "least", "most", "message"),
    [
        (AlertMeasure.FAILURE_RATE, "1m", "24h", "must be from 1m to 1d"),
        (AlertMeasure.WAIT_P95, "1m", "24h", "must be from 1m to 1d"),
        (AlertMeasure.RUN_P95, "1m", "24h", "must be from 1m to 1d"),
        (AlertMeasure.BACKLOG, "1m", "24h", "must be from 1m to 1d"),
        (AlertMeasure.LATE_SCHEDULE, "61s", "6h", "must be from 1m to 6h"),
        (AlertMeasure.BURN_RATE, "1h", "72h", "must be from 1h to 3d"),
    ],
)
def test_a_window_has_bounds(measure: AlertMeasure, least: str, most: str, message: str) -> None:
    for window in (least, most):
        accept_condition(asked(measure, window=window))
    for window in ("59s", f"{most[:-1]}.001h"):
        with pytest.raises(Invalid) as caught:
            accept_condition(asked(measure, window=window))
        assert (caught.value.field, caught.value.message) == ("window", message)


@pytest.mark.parametrize(
    ("request_", "field", "message"),
    [
        (asked(AlertMeasure.OLDEST_WAIT, window="5m"), "window", "is not for oldest_wait"),
        (asked(AlertMeasure.RUN_P95, least=0), "least", "must be from 1 to 1,000,000"),
        (asked(AlertMeasure.RUN_P95, least=1_000_001), "least", "must be from 1 to 1,000,000"),
        (asked(AlertMeasure.BACKLOG, least=2), "least", "is not for backlog"),
        (asked(AlertMeasure.OLDEST_WAIT, least=2), "least", "is not for oldest_wait"),
        (asked(AlertMeasure.RUN_P95, hold="24.001h"), "for", "must be at most 24h"),
        (asked(AlertMeasure.BURN_RATE, task="t"), "task", "is not for burn_rate"),
        (asked(AlertMeasure.BURN_RATE, queue="q"), "queue", "is not for burn_rate"),
        (asked(AlertMeasure.LATE_SCHEDULE, task="t"), "task", "is not for late_schedule"),
        (asked(AlertMeasure.LATE_SCHEDULE, queue="q"), "queue", "is not for late_schedule"),
        (asked(AlertMeasure.RUN_P95, schedule="s"), "schedule", "is for late_schedule only"),
        (asked(AlertMeasure.RUN_P95, slo=SLO), "slo", "is for burn_rate only"),
        (asked(AlertMeasure.BURN_RATE, slo=None), "slo", "must be the id of an objective"),
        (asked(AlertMeasure.RUN_P95, task=""), "task", "must not be blank"),
        (asked(AlertMeasure.LATE_SCHEDULE, schedule=""), "schedule", "must not be blank"),
        (asked(AlertMeasure.RUN_P95, note="\x00"), "note",
         "must not contain control characters other than line breaks and tabs"),
    ],
)  # fmt: skip
def test_a_rule_that_makes_no_sense_is_refused_by_its_field(request_: AlertRequest, field: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        accept_condition(request_)
    assert (caught.value.field, caught.value.message) == (field, message)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (asked(AlertMeasure.RUN_P95, window="x"), "window"),
        (asked(AlertMeasure.RUN_P95, hold="x"), "for"),
        (asked(AlertMeasure.BURN_RATE, slo="x"), "slo"),
        (asked(AlertMeasure.RUN_P95, queue="a b"), "queue"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_field(request_: AlertRequest, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        accept_condition(request_)
    assert caught.value.field == field


def test_the_bounds_of_a_rule_belong_to_it() -> None:
    found = accept_condition(asked(AlertMeasure.RUN_P95, hold="24h", least=1_000_000))
    assert (found.hold, found.least) == (24 * HOUR, 1_000_000)
    for measure in (AlertMeasure.FAILURE_RATE, AlertMeasure.WAIT_P95, AlertMeasure.BURN_RATE):
        assert accept_condition(asked(measure, least=2)).least == 2


CONDITION = AlertCondition(
    measure=AlertMeasure.RUN_P95, threshold=1.5, window=10 * MINUTE, hold=2 * MINUTE, least=20,
    severity=Severity.CRITICAL, task="charge", queue="q", note="call",
)  # fmt: skip
RULE = AlertRule(
    id=AlertId("r"), tenant="t", name="n", condition=CONDITION, created_at=Instant(0), since=Instant(0),
    is_enabled=False,
)  # fmt: skip


def test_an_empty_change_leaves_a_rule_as_it_is() -> None:
    request_ = patched(RULE, AlertPatch())
    assert (request_.name, request_.enabled) == ("n", False)
    assert accept_condition(request_) == CONDITION


@pytest.mark.parametrize(
    ("condition", "slo"),
    [
        (AlertCondition(measure=AlertMeasure.OLDEST_WAIT, threshold=5.0, window=0), None),
        (AlertCondition(measure=AlertMeasure.LATE_SCHEDULE, threshold=5.0, window=HOUR, schedule="nightly"), None),
        (AlertCondition(measure=AlertMeasure.BURN_RATE, threshold=6.0, window=HOUR), SLO),
    ],
)
def test_an_empty_change_leaves_a_rule_of_every_measure_as_it_is(condition: AlertCondition, slo: str | None) -> None:
    rule = replace(RULE, condition=condition, slo=None if slo is None else SloId(slo), is_enabled=True)
    request_ = patched(rule, AlertPatch())
    assert (request_.slo, request_.enabled) == (slo, True)
    assert accept_condition(request_) == condition


def test_the_tasks_of_an_objective_are_not_said_again_by_a_change() -> None:
    burn = AlertCondition(measure=AlertMeasure.BURN_RATE, threshold=6.0, window=HOUR, task="charge", queue="q")
    request_ = patched(replace(RULE, condition=burn, slo=SloId(SLO)), AlertPatch())
    assert (request_.task, request_.queue) == (None, None)


@pytest.mark.parametrize(
    ("patch", "fields"),
    [
        (AlertPatch(threshold=3), {"threshold": 3.0}),
        (AlertPatch(window="20m"), {"window": 20 * MINUTE}),
        (AlertPatch(hold="1m"), {"hold": MINUTE}),
        (AlertPatch(least=5), {"least": 5}),
        (AlertPatch(severity=Severity.WARNING), {"severity": Severity.WARNING}),
        (AlertPatch(task=None, queue=None, note=None), {"task": None, "queue": None, "note": None}),
        (AlertPatch(task="refund"), {"task": "refund"}),
    ],
)
def test_a_change_leaves_what_it_does_not_name_and_null_removes(patch: AlertPatch, fields: dict[str, Any]) -> None:
    assert patch.muted_until is UNSET
    assert accept_condition(patched(RULE, patch)) == replace(CONDITION, **fields)


def test_a_change_can_rename_mute_and_enable_a_rule() -> None:
    request_ = patched(RULE, AlertPatch(name="other", enabled=True, muted_until="2h"))
    assert (request_.name, request_.enabled) == ("other", True)
