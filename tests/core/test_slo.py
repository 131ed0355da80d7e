"""Service level objectives: what counts, how fast a budget is spent, and which are accepted."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from drumline.core.accept_slo import SloPatch, SloRequest, accept_definition, accept_slo_patch
from drumline.core.alert import AlertCondition, AlertId, AlertMeasure, NewAlertRule, Severity, SloId
from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.slo import (
    DAY,
    HOUR,
    HourTally,
    Objective,
    SloDefinition,
    Tally,
    burn_of,
    burn_rules,
    hours,
    short_window,
    tally,
)
from drumline.core.stats import BOUNDS, Measure, Stat

SUCCESS = SloDefinition(task="charge", objective=Objective.SUCCESS, target=0.75, period=30 * DAY)
START = SloDefinition(task="charge", objective=Objective.START, target=0.75, period=30 * DAY, within=1000)


def stat(measure: Measure, count: int, *, at: int = 0, duration: int = 0) -> Stat:
    return Stat(at=Instant(at), measure=measure, count=count, duration=duration)


def test_a_success_is_a_task_that_completed_of_those_that_completed_or_failed() -> None:
    figures = [
        stat(Measure.COMPLETED, 5),
        stat(Measure.FAILED, 2),
        stat(Measure.COMPLETED, 1),
        stat(Measure.WAIT, 9),
        stat(Measure.RUN, 9),
    ]
    assert tally(SUCCESS, figures) == Tally(good=6, total=8)
    assert tally(SUCCESS, []) == Tally(0, 0)


def test_a_start_is_good_within_its_time() -> None:
    place = BOUNDS.index(1000)
    figures = [
        stat(Measure.WAIT, 3, duration=place - 1),
        stat(Measure.WAIT, 4, duration=place),
        stat(Measure.WAIT, 5, duration=place + 1),
        stat(Measure.WAIT, 6, duration=len(BOUNDS)),
        stat(Measure.COMPLETED, 7),
        stat(Measure.RUN, 7, duration=0),
    ]
    assert tally(START, figures) == Tally(good=7, total=18)


def test_a_start_without_a_time_is_never_good() -> None:
    assert tally(replace(START, within=None), [stat(Measure.WAIT, 3, duration=0)]) == Tally(0, 3)


def test_the_longest_time_is_one_that_starts_can_be_within() -> None:
    longest = replace(START, within=BOUNDS[-1])
    figures = [stat(Measure.WAIT, 1, duration=len(BOUNDS) - 1), stat(Measure.WAIT, 1, duration=len(BOUNDS))]
    assert tally(longest, figures) == Tally(1, 2)


def test_hours_are_tallied_in_their_order() -> None:
    figures = [
        stat(Measure.COMPLETED, 1, at=5 * HOUR),
        stat(Measure.FAILED, 2, at=3 * HOUR + 5),
        stat(Measure.COMPLETED, 4, at=4 * HOUR - 1),
        stat(Measure.COMPLETED, 8, at=4 * HOUR),
    ]
    assert hours(SUCCESS, figures) == [
        HourTally(Instant(3 * HOUR), Tally(4, 6)),
        HourTally(Instant(4 * HOUR), Tally(8, 8)),
        HourTally(Instant(5 * HOUR), Tally(1, 1)),
    ]


def test_tallies_are_added() -> None:
    assert Tally(1, 2) + Tally(4, 8) == Tally(5, 10)


@pytest.mark.parametrize(
    ("found", "burn", "left"),
    [
        (Tally(0, 0), None, 1.0),
        (Tally(8, 8), 0.0, 1.0),
        (Tally(7, 8), 0.5, 0.5),
        (Tally(6, 8), 1.0, 0.0),
        (Tally(0, 8), 4.0, -3.0),
    ],
)
def test_a_budget_burns_as_fast_as_the_share_of_what_went_wrong(found: Tally, burn: float | None, left: float) -> None:
    assert SUCCESS.budget == 0.25
    assert (found.burn(SUCCESS.budget), found.budget_left(SUCCESS.budget)) == (burn, left)


@pytest.mark.parametrize(
    ("long", "short", "burn"),
    [
        (Tally(6, 8), Tally(7, 8), 0.5),
        (Tally(7, 8), Tally(0, 8), 0.5),
        (Tally(0, 0), Tally(0, 8), None),
        (Tally(0, 8), Tally(0, 0), None),
        (Tally(8, 8), Tally(0, 8), 0.0),
    ],
)
def test_the_burn_of_two_windows_is_the_lesser(long: Tally, short: Tally, burn: float | None) -> None:
    assert burn_of(long, short, 0.25) == burn


def test_the_short_window_of_an_hour_is_five_minutes() -> None:
    assert short_window(HOUR) == 300_000


def test_an_objective_is_watched_for_a_fast_and_a_slow_burn() -> None:
    definition = replace(SUCCESS, queue="q")
    assert burn_rules(SloId("s"), "pay", definition, tenant="t", ids=("a", "b")) == (
        NewAlertRule(
            id=AlertId("a"), tenant="t", name="pay: fast burn", slo=SloId("s"),
            condition=AlertCondition(
                measure=AlertMeasure.BURN_RATE, threshold=14.4, window=HOUR, severity=Severity.CRITICAL,
                task="charge", queue="q",
            ),
        ),
        NewAlertRule(
            id=AlertId("b"), tenant="t", name="pay: slow burn", slo=SloId("s"),
            condition=AlertCondition(
                measure=AlertMeasure.BURN_RATE, threshold=6.0, window=6 * HOUR, severity=Severity.WARNING,
                task="charge", queue="q",
            ),
        ),
    )  # fmt: skip


ASKED = SloRequest(name="pay", task="charge", target=0.75)
ASKED_START = replace(ASKED, objective=Objective.START, within="1s")


@pytest.mark.parametrize(
    ("request_", "definition"),
    [
        (ASKED, SUCCESS),
        (replace(ASKED, queue="q", period="7d"), replace(SUCCESS, queue="q", period=7 * DAY)),
        (ASKED_START, START),
        (replace(ASKED_START, within=0.001), replace(START, within=1)),
        (replace(ASKED, target=0.5), replace(SUCCESS, target=0.5)),
        (replace(ASKED, target=0.99999), replace(SUCCESS, target=0.99999)),
        (replace(ASKED, period=86400), replace(SUCCESS, period=DAY)),
    ],
)
def test_an_objective_that_is_asked_for_is_accepted(request_: SloRequest, definition: SloDefinition) -> None:
    assert accept_definition(request_) == definition


ONE_OF = (
    "must be one of 0.001s, 0.002s, 0.005s, 0.01s, 0.02s, 0.05s, 0.1s, 0.2s, 0.5s, 1s, 2s, 5s, 10s, 30s, 1m, 5m, 30m"
)
SHARE = "must be a share from 0.5 to 0.99999"
DAYS = "must be from 1d to 30d, in whole days"


@pytest.mark.parametrize(
    ("request_", "field", "message"),
    [
        (replace(ASKED, target=0.49), "target", SHARE),
        (replace(ASKED, target=1.0), "target", SHARE),
        (replace(ASKED, task=""), "task", "must not be blank"),
        (
            replace(ASKED, queue="a b"),
            "queue",
            "must be letters, digits and _ . : @ - only, and start with a letter or digit",
        ),
        (replace(ASKED, within="1s"), "within", "is for `start` only"),
        (replace(ASKED_START, within=None), "within", "must be the time in which tasks have to start"),
        (replace(ASKED_START, within="3s"), "within", ONE_OF),
        (replace(ASKED, period="12h"), "period", DAYS),
        (replace(ASKED, period="31d"), "period", DAYS),
        (replace(ASKED, period="36h"), "period", DAYS),
    ],
)
def test_an_objective_that_makes_no_sense_is_refused_by_its_field(
    request_: SloRequest, field: str, message: str
) -> None:
    with pytest.raises(Invalid) as caught:
        accept_definition(request_)
    assert (caught.value.field, caught.value.message) == (field, message)


@pytest.mark.parametrize(
    ("request_", "field"), [(replace(ASKED, period="x"), "period"), (replace(ASKED_START, within="x"), "within")]
)
def test_a_duration_that_is_none_is_refused_by_its_field(request_: SloRequest, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        accept_definition(request_)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("patch", "old", "new"),
    [
        (SloPatch(), replace(START, queue="q"), replace(START, queue="q")),
        (SloPatch(target=0.9), SUCCESS, replace(SUCCESS, target=0.9)),
        (SloPatch(period="1d"), START, replace(START, period=DAY)),
        (SloPatch(within="2s"), START, replace(START, within=2000)),
    ],
)
def test_a_change_of_an_objective_leaves_what_it_does_not_name(
    patch: SloPatch, old: SloDefinition, new: SloDefinition
) -> None:
    assert patch.name is UNSET
    assert accept_slo_patch(patch, old, name="pay") == new


def test_a_change_that_makes_no_sense_is_refused_by_its_field() -> None:
    with pytest.raises(Invalid) as caught:
        accept_slo_patch(SloPatch(within="1s"), SUCCESS, name="pay")
    assert caught.value.field == "within"
