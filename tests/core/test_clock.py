"""Instants: how they are read from times, and how they are written."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from drumline.core.clock import LATEST, Instant, ManualClock, SystemClock, moment_of, to_datetime, to_instant
from drumline.core.errors import Invalid

OUTSIDE = "at: is outside the years 1970 to 9999"


def refusal(moment: datetime) -> str:
    with pytest.raises(Invalid) as refused:
        to_instant(moment, field="at")
    return str(refused.value)


def test_the_machine_tells_milliseconds_and_seconds() -> None:
    clock = SystemClock()
    before, monotonic = time.time_ns() // 1_000_000, time.monotonic()

    assert before <= clock.now() <= time.time_ns() // 1_000_000
    assert monotonic <= clock.monotonic() <= time.monotonic()


def test_a_clock_that_is_moved_by_hand_moves_by_seconds() -> None:
    clock = ManualClock()

    clock.advance(1.5)
    clock.advance(0.25)

    assert (clock.now(), clock.monotonic()) == (1_700_000_001_750, 1.75)


def test_a_clock_that_is_moved_by_hand_may_start_at_any_time() -> None:
    assert (ManualClock(5).now(), ManualClock(5).monotonic()) == (5, 0.0)


@pytest.mark.parametrize(
    ("moment", "instant"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=UTC), 1_767_323_045_679),
        (datetime(2026, 1, 2, 4, 4, 5, tzinfo=timezone(timedelta(hours=1))), 1_767_323_045_000),
        (datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), LATEST),
    ],
)
def test_a_time_is_read_to_the_millisecond(moment: datetime, instant: int) -> None:
    assert to_instant(moment, field="at") == instant


def test_a_time_without_a_zone_could_be_any_hour() -> None:
    reason = "must have a time zone, such as 2026-01-02T03:04:05Z or 2026-01-02T03:04:05+01:00"

    assert refusal(datetime(2026, 1, 2)) == f"at: {reason}"  # noqa: DTZ001 - one without a zone


def test_a_time_that_cannot_be_stored_is_refused() -> None:
    assert refusal(datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)) == OUTSIDE
    assert refusal(datetime(9999, 12, 31, 23, 59, 59, 999_600, tzinfo=UTC)) == OUTSIDE
    assert refusal(datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))) == OUTSIDE


def test_an_instant_is_written_in_utc_with_its_milliseconds() -> None:
    assert to_datetime(Instant(1_767_323_045_250)) == datetime(2026, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)
    assert moment_of(Instant(1_767_323_045_007)) == "2026-01-02T03:04:05.007Z"
    assert moment_of(Instant(0)) == "1970-01-01T00:00:00.000Z"
    assert moment_of(LATEST) == "9999-12-31T23:59:59.999Z"


def test_an_instant_that_was_stored_after_the_year_9999_is_shown_as_the_last_one_there_is() -> None:
    assert moment_of(Instant(LATEST + 1)) == "9999-12-31T23:59:59.999Z"
    assert to_datetime(Instant(LATEST + 1)) == to_datetime(LATEST)
