"""Durations, priorities and backoff: what people write, and what it means."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.duration import format_duration, parse_duration
from drumline.core.errors import Invalid
from drumline.core.priority import parse_priority, score
from drumline.core.retry import Backoff


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (0, 0), (1.5, 1.5), ("90", 90), ("1h30m", 5400), ("250ms", 0.25), ("1.5h", 5400), ("2d", 172_800),
        ("PT1H30M", 5400), ("P1DT1S", 86_401), ("P2W", 1_209_600), (" 5s ", 5), (timedelta(minutes=1), 60),
    ],
)  # fmt: skip
def test_durations_are_understood(written: float | str | timedelta, seconds: float) -> None:
    assert parse_duration(written, field="delay") == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "written", [-1, "-1s", "", "soon", "1x", "P", "PT", float("nan"), float("inf"), 1e12, "9" * 100, "1h-5m"]
)
def test_other_durations_are_refused_by_field(written: float | str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_duration(written, field="delay")

    assert caught.value.field == "delay"


@given(st.integers(0, 10**9))
def test_a_duration_survives_being_written_down(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)

    written = format_duration(duration)

    assert abs(parse_duration(written, field="x") - duration) < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("written", "number"),
    [(0, 0), (-100, -100), ("critical", 100), ("High", 50), ("normal", 0), ("low", -50), ("7", 7)],
)
def test_priorities_are_understood(written: int | str, number: int) -> None:
    assert parse_priority(written) == number


@pytest.mark.parametrize("written", [101, -101, "urgent", "1.5", "", "1000", "٣"[:0] + "x"])
def test_other_priorities_are_refused(written: int | str) -> None:
    with pytest.raises(Invalid):
        parse_priority(written)


def test_a_point_of_priority_is_worth_a_minute() -> None:
    assert score(60_000, 1) == score(0, 0)


def test_the_default_backoff_waits_2_4_8_seconds() -> None:
    waits = [Backoff().delay(retry, lambda: 0.5).total_seconds() for retry in (1, 2, 3)]

    assert waits == [2, 4, 8]


def test_a_base_of_5_waits_5_10_20_seconds() -> None:
    waits = [Backoff(base=5).delay(retry, lambda: 0.5).total_seconds() for retry in (1, 2, 3)]

    assert waits == [5, 10, 20]


@given(
    retry=st.integers(1, 100_000),
    base=st.floats(0, 1e5),
    factor=st.floats(1, 100),
    cap=st.floats(0, 1e6),
    jitter=st.floats(0, 1),
    chance=st.floats(0, 1),
)
def test_no_backoff_passes_its_cap_or_goes_below_zero(
    retry: int, base: float, factor: float, cap: float, jitter: float, chance: float
) -> None:
    wait = Backoff(base=base, factor=factor, cap=cap, jitter=jitter).delay(retry, lambda: chance)

    assert 0 <= wait.total_seconds() <= cap + 1e-6


@pytest.mark.parametrize("bad", [{"base": -1}, {"factor": 0.5}, {"cap": -1}, {"jitter": 2}, {"base": float("nan")}])
def test_a_senseless_backoff_is_refused_by_its_part(bad: dict[str, float]) -> None:
    with pytest.raises(Invalid) as caught:
        Backoff(**bad).check()

    assert caught.value.field == f"backoff.{next(iter(bad))}"
