"""Cron expressions: what they match, and what is wrong with those that are none."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumline.core.clock import Instant
from drumline.core.cron import parse_cron
from drumline.core.errors import Invalid
from drumline.core.timetable import Rule, timetable

START = datetime(2026, 1, 1, tzinfo=UTC)


def fires(cron: str, count: int = 3, after: datetime = START, zone: str = "UTC") -> list[str]:
    times = timetable(Rule(cron=cron, timezone=zone)).times(Instant(int(after.timestamp() * 1000)))
    return [f"{datetime.fromtimestamp(next(times) / 1000, UTC):%Y-%m-%d %H:%M:%S}" for _ in range(count)]


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("*/20 * * * *", ["2026-01-01 00:20:00", "2026-01-01 00:40:00", "2026-01-01 01:00:00"]),
        ("30 9 * * MON-FRI", ["2026-01-01 09:30:00", "2026-01-02 09:30:00", "2026-01-05 09:30:00"]),
        ("0 0 1 jan,jul *", ["2026-07-01 00:00:00", "2027-01-01 00:00:00", "2027-07-01 00:00:00"]),
        ("15 10 0 * * *", ["2026-01-01 00:10:15", "2026-01-02 00:10:15", "2026-01-03 00:10:15"]),
        ("@daily", ["2026-01-02 00:00:00", "2026-01-03 00:00:00", "2026-01-04 00:00:00"]),
        ("@WEEKLY", ["2026-01-04 00:00:00", "2026-01-11 00:00:00", "2026-01-18 00:00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00:00", "2032-02-29 00:00:00", "2036-02-29 00:00:00"]),
        ("0 0 * * 7", ["2026-01-04 00:00:00", "2026-01-11 00:00:00", "2026-01-18 00:00:00"]),
        ("0 0 * * FRI-SUN", ["2026-01-02 00:00:00", "2026-01-03 00:00:00", "2026-01-04 00:00:00"]),
        ("5/25 0 * * *", ["2026-01-01 00:05:00", "2026-01-01 00:30:00", "2026-01-01 00:55:00"]),
        ("0 18 L * *", ["2026-01-31 18:00:00", "2026-02-28 18:00:00", "2026-03-31 18:00:00"]),
        ("0 9 * * MON#1", ["2026-01-05 09:00:00", "2026-02-02 09:00:00", "2026-03-02 09:00:00"]),
        ("0 9 * * FRIL", ["2026-01-30 09:00:00", "2026-02-27 09:00:00", "2026-03-27 09:00:00"]),
    ],
)
def test_expressions_fire_as_they_say(cron: str, expected: list[str]) -> None:
    assert fires(cron) == expected


def test_a_day_matches_by_month_or_by_week_where_both_are_named() -> None:
    assert fires("0 0 13 * FRI", 4) == [f"2026-01-{day} 00:00:00" for day in ("02", "09", "13", "16")]
    assert fires("0 0 13 * */5", 2) == ["2026-02-13 00:00:00", "2026-03-13 00:00:00"]  # a star: by both


def test_a_day_that_comes_once_in_decades_is_found() -> None:
    assert fires("0 0 29 2 */7", 2) == ["2032-02-29 00:00:00", "2060-02-29 00:00:00"]


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("61 * * * *", "minute 61 is not from 0 to 59"),
        ("* 24 * * *", "hour 24 is not from 0 to 23"),
        ("* * 0 * *", "day of the month 0 is not from 1 to 31"),
        ("* * * 13 *", "month 13 is not from 1 to 12"),
        ("* * * * 8", "day of the week 8 is not from 0 to 7"),
        ("* * * * FOO", "day of the week 'FOO' is not a number from 0 to 7, or SUN to SAT"),
        ("60 * * * * *", "second 60 is not from 0 to 59"),
        ("*/0 * * * *", "step 0 is not from 1 to 59"),
        ("30-10 * * * *", "30-10 goes backwards; write two ranges with a comma between them"),
        ("1-2-3 * * * *", "'1-2-3' is not understood as a minute"),
        ("*-5 * * * *", "'*-5' is not understood as a minute"),
        (", * * * *", "'' is not understood as a minute"),
        ("* * * *", "must have 5 fields, or 6 with seconds first, not 4"),
        ("", "must have 5 fields, or 6 with seconds first, not 0"),
        ("0 0 12 * * MON 2026", "must have 5 fields, or 6 with seconds first, not 7"),
        ("@fortnightly", "@fortnightly is not one of"),
        ("0 0 * * MON#6", "number after # 6 is not from 1 to 5"),
        ("* * 31 2 *", "never fires: no month that it names has such a day"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 30 2 */2", "never fires"),
        ("१ * * * *", "minute '१' is not a number from 0 to 59"),
        ("* " * 600, "must be at most 1000 characters"),
    ],
)
def test_what_is_wrong_is_said(cron: str, reason: str) -> None:
    with pytest.raises(Invalid) as wrong:
        parse_cron(cron)

    assert wrong.value.field == "cron"
    assert wrong.value.message.startswith(reason)


def test_a_misspelt_form_is_recognised() -> None:
    with pytest.raises(Invalid, match="did you mean @daily"):
        parse_cron("@dayly")


def some(least: int, most: int) -> st.SearchStrategy[list[int] | None]:
    return st.none() | st.lists(st.integers(least, most), min_size=1, max_size=3, unique=True)


def text(values: list[int] | None) -> str:
    return "*" if values is None else ",".join(map(str, values))


@settings(max_examples=60, deadline=None)
@given(some(0, 59), some(0, 23), some(1, 31), some(1, 12), some(0, 6), st.integers(0, 400 * 1440))
def test_the_calendar_agrees_with_a_plain_reading_of_the_fields(
    minutes: list[int] | None,
    hours: list[int] | None,
    days: list[int] | None,
    months: list[int] | None,
    weekdays: list[int] | None,
    start: int,
) -> None:
    def has_day(moment: datetime) -> bool:
        by_month = days is None or moment.day in days
        by_week = weekdays is None or moment.isoweekday() % 7 in weekdays
        both_named = days is not None and weekdays is not None
        return (by_month or by_week) if both_named else (by_month and by_week)

    cron = " ".join(text(values) for values in (minutes, hours, days, months, weekdays))
    after = START + timedelta(minutes=start)
    end = after + timedelta(days=40)
    expected = []
    moment = after
    while (moment := moment + timedelta(minutes=1)) <= end:
        if (months is not None and moment.month not in months) or not has_day(moment):
            moment = moment.replace(hour=23, minute=59)
        elif (minutes is None or moment.minute in minutes) and (hours is None or moment.hour in hours):
            expected.append(Instant(int(moment.timestamp() * 1000)))
    try:
        table = timetable(Rule(cron=cron))
    except Invalid:
        assert expected == []
        return
    span = Instant(int(after.timestamp() * 1000)), Instant(int(end.timestamp() * 1000))

    assert list(table.times(*span)) == expected
    assert table.count(*span) == len(expected)
    assert table.latest(*span, most=5) == expected[-5:]
