"""Cron expressions: what they match, and what is wrong with those that are none."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumline.core.clock import Instant
from drumline.core.cron import MACROS, Cron, parse_cron
from drumline.core.errors import Invalid
from drumline.core.names import LONGEST_CRON
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


def label(text: str) -> int:
    """Return the label of a time as a clock shows it."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def labels(cron: str, start: str, end: str) -> list[str]:
    """Return the matching labels of a span, and see that every part of it is counted alike."""
    parsed, first, last = fresh(cron), label(start), label(end)
    found: list[int] = []
    while (one := parsed.first_label(found[-1] + 1 if found else first)) is not None and one < last:
        found.append(one)
    edges = [first, *(edge for one in found for edge in (one - 1, one, one + 1)), last]
    for edge in edges:
        assert fresh(cron).count(first, edge) == sum(one < edge for one in found)
        assert fresh(cron).count(edge, last) == sum(one >= edge for one in found)
    return [f"{datetime.fromtimestamp(one, UTC):%d %H:%M:%S}" for one in found]


def fresh(cron: str) -> Cron:
    """Return an expression that nobody has asked anything yet."""
    return parse_cron.__wrapped__(cron)


@pytest.mark.parametrize(
    ("cron", "start", "end", "found"),
    [
        (
            "20,40 30 9,17 * * *",
            "2026-01-01T00:00",
            "2026-01-02T12:00",
            ["01 09:30:20", "01 09:30:40", "01 17:30:20", "01 17:30:40", "02 09:30:20", "02 09:30:40"],
        ),
        (
            "0 15,45 23 31 * *",
            "2026-01-31T23:15",
            "2026-05-31T23:45",
            ["31 23:15:00", "31 23:45:00", "31 23:15:00", "31 23:45:00", "31 23:15:00"],
        ),
        ("59 59 23 * * *", "2026-02-28T00:00", "2026-03-02T00:00", ["28 23:59:59", "01 23:59:59"]),
        ("0 0 0 * * *", "2026-02-28T00:00", "2026-03-02T00:00", ["28 00:00:00", "01 00:00:00"]),
        ("0 12 L * *", "2028-01-31T12:00", "2028-04-01T00:00", ["31 12:00:00", "29 12:00:00", "31 12:00:00"]),
        ("0 12 1,L * *", "2026-02-01T00:00", "2026-03-02T00:00", ["01 12:00:00", "28 12:00:00", "01 12:00:00"]),
        ("0 0 * * MON#2,FRIL", "2026-05-01T00:00", "2026-06-09T00:00", ["11 00:00:00", "29 00:00:00", "08 00:00:00"]),
        ("0 0 * * MON#5", "2026-01-01T00:00", "2026-07-01T00:00", ["30 00:00:00", "29 00:00:00"]),
        ("0 0 * * SUN#1", "2026-02-01T00:00", "2026-04-01T00:00", ["01 00:00:00", "01 00:00:00"]),
        ("0 0 * * 7L", "2026-02-01T00:00", "2026-04-01T00:00", ["22 00:00:00", "29 00:00:00"]),
        ("0 0 31 12 *", "2026-12-31T00:00:01", "2028-01-01T00:00", ["31 00:00:00"]),
        ("0 0 29 2 *", "2096-03-01T00:00", "2104-03-01T00:00", ["29 00:00:00"]),
        ("0 0 13 * FRI", "2026-02-01T00:00", "2026-02-21T00:00", ["06 00:00:00", "13 00:00:00", "20 00:00:00"]),
        ("0 0 */13 * FRI", "2026-02-01T00:00", "2026-04-01T00:00", ["27 00:00:00", "27 00:00:00"]),
    ],
)
def test_labels_are_found_and_counted_alike(cron: str, start: str, end: str, found: list[str]) -> None:
    assert labels(cron, start, end) == found


def test_a_span_that_ends_before_it_begins_has_none() -> None:
    cron = fresh("* * * * *")

    assert cron.count(120, 120) == cron.count(180, 120) == 0
    assert cron.count(120, 121) == 1


def test_days_of_many_years_are_counted_in_one_go() -> None:
    start, end = label("2000-01-01T00:00"), label("2400-01-01T00:00")

    assert fresh("0 0 29 2 *").count(start, end) == 97
    assert fresh("0 12 * * *").count(start, end) == 146_097
    assert fresh("0 12 * * MON").count(start, end) == 146_097 // 7


def test_the_calendar_of_an_expression_ends() -> None:
    last = label("9998-12-31T00:00")

    assert fresh("0 0 * * *").first_label(last) == fresh("0 0 31 12 *").first_label(last) == last
    assert fresh("0 0 * * *").first_label(last + 1) is None
    assert fresh("0 0 31 12 *").first_label(last + 1) is None


@pytest.mark.parametrize(
    ("cron", "hours"),
    [
        ("0 1-5/2 * * *", (1, 3, 5)),
        ("0 20/2 * * *", (20, 22)),
        ("0 5,1,5 * * *", (1, 5)),
        ("0 */23 * * *", (0, 23)),
        ("0 7-7 * * *", (7,)),
        ("0 0023 * * *", (23,)),
    ],
)
def test_lists_ranges_and_steps_are_values_in_order(cron: str, hours: tuple[int, ...]) -> None:
    assert fresh(cron).hours == hours


@pytest.mark.parametrize(
    ("weekday", "days"),
    [
        ("*", {0, 1, 2, 3, 4, 5, 6}),
        ("*/3", {0, 3, 6}),
        ("5-7", {5, 6, 0}),
        ("SAT-SUN", {6, 0}),
        ("SUN-TUE", {0, 1, 2}),
        ("sun", {0}),
        ("5/2", {5, 0}),
    ],
)
def test_sunday_is_at_either_end_of_the_week(weekday: str, days: set[int]) -> None:
    assert fresh(f"0 0 * * {weekday}").days.of_week == days


def test_an_expression_is_kept_as_it_was_written_but_for_space() -> None:
    assert fresh("  */5  *\t* * mon ").text == "*/5 * * * mon"
    assert fresh("@Daily").text == "@Daily"
    assert fresh("5 * * * *").fields == ("0", "5", "*", "*", "*", "*")
    assert {name: fresh(name).fields for name in MACROS} == {name: ("0", *MACROS[name].split()) for name in MACROS}


@pytest.mark.parametrize(
    ("cron", "is_fixed"),
    [
        ("30 9 * * *", True),
        ("30 9,17 * * 1-5", True),
        ("*/5 9 * * *", False),
        ("0 * * * *", False),
        ("* * 9 9 * *", False),
    ],
)
def test_an_expression_that_names_times_of_the_day_is_fixed(cron: str, is_fixed: bool) -> None:
    assert fresh(cron).is_fixed is is_fixed


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("@dayly", "@dayly is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly; did"),
        ("* * * FOO *", "month 'FOO' is not a number from 1 to 12, or JAN to DEC"),
        ("* */24 * * *", "step 24 is not from 1 to 23"),
        ("* 00023 * * *", "hour '00023' is not a number from 0 to 23"),
        ("* * * * MON#0", "number after # 0 is not from 1 to 5"),
        ("* * * * MON#x", "number after # 'X' is not a number from 1 to 5"),
        ("* * * * *-2", "'*-2' is not understood as a day of the week"),
        ("* * * * L", "day of the week 'L' is not a number from 0 to 7, or SUN to SAT"),
        ("0 9-8 * * *", "9-8 goes backwards; write two ranges with a comma between them"),
    ],
)
def test_every_bound_of_a_field_is_told(cron: str, reason: str) -> None:
    with pytest.raises(Invalid) as wrong:
        fresh(cron)

    assert str(wrong.value).startswith(f"cron: {reason}")


def test_an_expression_may_be_as_long_as_it_is_said() -> None:
    long = "0,0 " + ",".join(["1"] * 490)

    assert fresh(f"{long:<{LONGEST_CRON - 6}} * * *").hours == (1,)
    with pytest.raises(Invalid, match=f"must be at most {LONGEST_CRON} characters$"):
        fresh(f"{long:<{LONGEST_CRON - 5}} * * *")
