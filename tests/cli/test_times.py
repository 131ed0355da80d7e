"""Times in flags: one rule for all of them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from drumline.cli.times import Toward, moment, span_of
from drumline.core.errors import Invalid


@pytest.fixture(autouse=True, params=["UTC", "America/New_York", "Asia/Kathmandu"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str, toward: Toward = Toward.PAST, zone: str | None = None) -> datetime:
    return datetime.fromisoformat(moment(text, flag="--since", toward=toward, zone=zone))


def near(one: datetime, other: datetime) -> bool:
    return abs(one - other) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "away"),
    [("1h", 3600), ("30d", 30 * 86_400), ("90", 90), ("1h30m", 5400), ("PT1H", 3600), ("2h ago", 7200), ("-2h", 7200)],
)
def test_a_duration_counts_back_where_the_flag_is_about_the_past(text: str, away: int) -> None:
    assert near(at(text), datetime.now(UTC) - timedelta(seconds=away))


@pytest.mark.parametrize(
    ("text", "away"), [("1h", 3600), ("in 2h", 7200), ("+2h", 7200), ("2h ago", -7200), ("now", 0)]
)
def test_a_duration_counts_forward_where_the_flag_is_about_what_is_to_come(text: str, away: int) -> None:
    assert near(at(text, Toward.FUTURE), datetime.now(UTC) + timedelta(seconds=away))


@pytest.mark.parametrize(
    ("text", "year", "hour"),
    [("2026-10-01", 2026, 0), ("2026-10-01 09:00", 2026, 9), ("2026-10-01T09:00:05", 2026, 9), ("2026-01-15", 2026, 0)],
)
def test_a_time_without_a_zone_is_local_and_said_to_be_so(
    text: str, year: int, hour: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = at(text)

    assert (found.year, found.hour) == (year, hour)
    assert found.utcoffset() == datetime.fromisoformat(text).astimezone().utcoffset()
    said = capsys.readouterr().err
    assert said.startswith(f"--since is {found.isoformat(timespec='seconds')} (local time, ")


def test_a_time_with_a_zone_is_taken_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert at("2026-10-01T09:00Z") == datetime(2026, 10, 1, 9, tzinfo=UTC)
    assert at("2026-10-01T09:00+02:00") == datetime(2026, 10, 1, 7, tzinfo=UTC)
    assert capsys.readouterr().err == ""


def test_a_time_of_a_schedule_is_in_its_zone() -> None:
    assert at("2026-07-01 09:00", zone="Europe/Berlin") == datetime(2026, 7, 1, 7, tzinfo=UTC)
    assert at("2026-01-01 09:00", zone="Europe/Berlin") == datetime(2026, 1, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(("text", "days"), [("today", 0), ("tomorrow", 1), ("yesterday", -1), ("Tomorrow 09:30", 1)])
def test_days_have_names(text: str, days: int) -> None:
    found = at(text, Toward.FUTURE)

    assert found.date() == (datetime.now().astimezone() + timedelta(days=days)).date()
    assert (found.hour, found.minute) == ((9, 30) if " " in text else (0, 0))


def test_a_time_of_day_is_the_next_or_the_last_one() -> None:
    now = datetime.now(UTC)
    soon = (datetime.now().astimezone() + timedelta(hours=1)).strftime("%H:%M")

    assert timedelta() < at(soon, Toward.FUTURE) - now <= timedelta(hours=1)
    assert timedelta(hours=22) < now - at(soon) <= timedelta(hours=24)


@pytest.mark.parametrize(
    "text", ["", "  ", "tomorow", "1x", "2026-13-01", "2026-10-32", "25:00", "tomorrow 9", "x" * 10_000, "9" * 60 + "d"]
)
def test_what_is_no_time_is_refused_by_the_name_of_the_flag(text: str) -> None:
    with pytest.raises(Invalid, match=r"^--since: .* is not a time; write 1h, 30d"):
        at(text)


def test_a_date_can_stand_for_a_span() -> None:
    assert span_of("30d", flag="--older-than", toward=Toward.PAST) == "30d"
    assert span_of("2020-01-01", flag="--older-than", toward=Toward.PAST).endswith("s")
    with pytest.raises(Invalid, match="lies in the past"):
        span_of("2020-01-01", flag="--delay", toward=Toward.FUTURE)
