"""Backoffs: how they are made, checked and described."""

import math

import pytest

from drumline.core.duration import format_duration, parse_duration, parse_expires
from drumline.core.errors import Conflict, Invalid
from drumline.core.fair_shares import STEP, Share, by_share, step_of
from drumline.core.ids import parse_schedule_id, parse_session_id
from drumline.core.retry import Backoff, backoff_note
from drumline.core.state import Act, State, step

YEAR = 86_400.0 * 366


def test_a_backoff_is_made_by_name() -> None:
    assert Backoff.exponential() == Backoff(base=2.0, factor=2.0, cap=3600.0, jitter=0.0)
    assert Backoff.exponential(3, 4, cap=50, jitter=0.5) == Backoff(base=3, factor=4, cap=50, jitter=0.5)
    assert Backoff.constant(7) == Backoff(base=7, factor=1.0, cap=7, jitter=0.0)
    assert Backoff.constant(-7).cap == 0


@pytest.mark.parametrize(
    "parts",
    [
        {"base": 0, "factor": 1, "cap": 0, "jitter": 0},
        {"base": YEAR, "factor": 100, "cap": YEAR, "jitter": 1},
    ],
)
def test_a_backoff_at_its_bounds_is_accepted(parts: dict[str, float]) -> None:
    backoff = Backoff(**parts)

    assert backoff.check() is backoff


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("base", -0.1, "must be from 0 to a year"),
        ("base", YEAR + 1, "must be from 0 to a year"),
        ("factor", 0.9, "must be from 1 to 100"),
        ("factor", 100.1, "must be from 1 to 100"),
        ("cap", -0.1, "must be from 0 to a year"),
        ("cap", YEAR + 1, "must be from 0 to a year"),
        ("jitter", -0.1, "must be from 0 to 1"),
        ("jitter", 1.1, "must be from 0 to 1"),
        ("jitter", math.nan, "must be from 0 to 1"),
    ],
)
def test_a_backoff_beyond_its_bounds_is_refused_by_its_part(part: str, value: float, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        Backoff(**{part: value}).check()
    with pytest.raises(Invalid) as named:
        Backoff(**{part: value}).check(field="tasks")

    assert (caught.value.message, caught.value.field) == (said, f"backoff.{part}")
    assert named.value.field == f"tasks.{part}"


def test_jitter_takes_off_its_share() -> None:
    assert Backoff(jitter=0.5).delay(2, lambda: 1.0).total_seconds() == 2.0


def test_a_field_that_takes_a_backoff_takes_a_number_too() -> None:
    note = backoff_note("How long.")

    assert note.extra is not None
    assert note.extra["schema"] == {
        "description": "How long.",
        "anyOf": [
            {"$ref": "#/components/schemas/Backoff"},
            {"type": "number", "minimum": 0, "maximum": 31_622_400},
        ],
    }


@pytest.mark.parametrize(("text", "ms"), [("1ms", 1), ("366d", 366 * 86_400_000), (0.001, 1)])
def test_an_expiry_is_from_a_millisecond_to_a_year(text: str | float, ms: int) -> None:
    assert parse_expires(text) == ms


@pytest.mark.parametrize("text", ["0s", "0.4ms", "367d"])
def test_another_expiry_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_expires(text)
    with pytest.raises(Invalid) as named:
        parse_expires(text, field="tasks[0].expires")

    assert (caught.value.message, caught.value.field) == ("must be from 0.001 s to 366 days", "expires")
    assert named.value.field == "tasks[0].expires"
    with pytest.raises(Invalid, match=r"^x: must be seconds"):
        parse_expires("soon", field="x")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1, "must be zero or more"),
        (math.inf, "must be zero or more"),
        (math.nan, "must be zero or more"),
        (366 * 100 * 86_400 + 1, "must be at most 100 years"),
        (10**400, "must be at most 100 years"),
        (-(10**400), "must be zero or more"),
        ("soon", 'must be seconds, or a text such as "1h30m" (w, d, h, m, s, ms) or "PT1H30M"'),
        ("1" * 65, "is too long for a duration"),
        ("P", 'must be seconds, or a text such as "1h30m" (w, d, h, m, s, ms) or "PT1H30M"'),
    ],
)
def test_a_duration_is_refused_with_its_reason(value: float | str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_duration(value, field="delay")

    assert (caught.value.message, caught.value.field) == (said, "delay")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0" * 62 + "1s", 1), ("0" * 64, 0), ("1W2D", 777_600), ("p1w", 604_800), ("PT1.5S", 1.5), ("1H", 3600)],
)
def test_durations_at_their_bounds_are_understood(text: str, seconds: float) -> None:
    assert parse_duration(text, field="delay").total_seconds() == seconds
    assert parse_duration(366 * 100 * 86_400, field="delay").days == 36_600


def test_durations_are_shown_by_their_largest_units() -> None:
    shown = [format_duration(parse_duration(ms / 1000, field="x")) for ms in (0, 1, 1000, 60_000, 3_600_000)]

    assert shown == ["0s", "0.001s", "1s", "1m", "1h"]
    assert format_duration(parse_duration("1d1h1m1.5s", field="x")) == "1d1h1m1.5s"


def test_an_act_that_is_not_possible_says_so() -> None:
    with pytest.raises(Conflict) as caught:
        step(State.COMPLETED, Act.FORCE_CANCEL)

    assert caught.value.message == "the task is completed; force cancel is not possible"


def test_a_heavier_tenant_rises_by_smaller_steps() -> None:
    assert (step_of(1), step_of(4), step_of(3)) == (STEP, STEP // 4, 333_333)
    waiting = {"a": ["a0", "a1"], "b": ["b0", "b1"]}
    assert by_share(waiting, [Share("b", 1, 1)]) == ["a0", "b0", "b1", "a1"]
    assert by_share(waiting, []) == by_share(waiting, [Share("b", 0)]) == ["a0", "b0", "a1", "b1"]


def test_other_ids_are_refused_by_field() -> None:
    for parse, said in (
        (parse_schedule_id, "must be a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057"),
        (parse_session_id, "must be a worker id such as w-00c0ffee00c0ffee"),
    ):
        with pytest.raises(Invalid) as caught:
            parse("x")
        with pytest.raises(Invalid) as named:
            parse("x", field="schedule")
        assert (caught.value.message, caught.value.field, named.value.field) == (said, "id", "schedule")
    assert parse_schedule_id("01890A5D-AC96-774B-BCCE-B302099A8057") == "01890a5d-ac96-774b-bcce-b302099a8057"
    assert parse_session_id("w-ffffffffffffffff") == (1 << 63) - 1
