"""Fire times: where they begin and end, how they are counted, and what a clock that is set makes of them."""

from datetime import UTC, datetime, timedelta

import pytest

from drumline.core.clock import LATEST, Instant
from drumline.core.timetable import BOTH, MOVED, TWICE, BoundedTimetable, FireTime, Rule, upcoming
from drumline.core.zone import LAST_SECOND, zone_of

BERLIN = "Europe/Berlin"
MINUTE = 60_000
HOUR = 60 * MINUTE


def at(text: str) -> Instant:
    moment = datetime.fromisoformat(text)
    return Instant(int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))


def times(rule: Rule, after: str, until: str) -> list[str]:
    """Return the fire times of a rule within a span, and see that they are counted and found one by one alike."""
    table = BoundedTimetable(rule)
    found = list(table.times(at(after), at(until)))
    assert BoundedTimetable(rule).count(at(after), at(until)) == len(found)
    assert [BoundedTimetable(rule).next_after(Instant(one - 1)) for one in found] == found
    return [f"{datetime.fromtimestamp(one / 1000, UTC):%d %H:%M}" for one in found]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (Rule(cron="0 * * * *"), ["01 01:00", "01 02:00", "01 03:00"]),
        (Rule(cron="30 1 * * *"), ["01 01:30"]),
        (Rule(interval_ms=HOUR, start=at("2026-01-01T00:30")), ["01 00:30", "01 01:30", "01 02:30"]),
        (Rule(interval_ms=HOUR, anchor=at("2026-01-01T00:30")), ["01 01:30", "01 02:30"]),
        (Rule(run_at=at("2026-01-01T02:00")), ["01 02:00"]),
        (Rule(run_at=at("2026-01-01T00:00")), []),
        (Rule(run_at=at("2026-01-01T03:00")), ["01 03:00"]),
        (Rule(run_at=at("2026-01-01T03:01")), []),
    ],
)
def test_a_span_has_its_end_and_not_its_beginning(rule: Rule, found: list[str]) -> None:
    assert times(rule, "2026-01-01T00:00", "2026-01-01T03:00") == found


@pytest.mark.parametrize("cron", ["0 * * * *", "0 1,2,3,4,5 * * *"])
def test_a_rule_has_both_its_bounds(cron: str) -> None:
    rule = Rule(cron=cron, start=at("2026-01-01T02:00"), end=at("2026-01-01T04:00"))

    assert times(rule, "2026-01-01T00:00", "2026-01-01T09:00") == ["01 02:00", "01 03:00", "01 04:00"]
    assert times(rule, "2026-01-01T02:00", "2026-01-01T03:00") == ["01 03:00"]
    assert times(rule, "2026-01-01T04:00", "2026-01-01T09:00") == []
    assert BoundedTimetable(rule).next_after(at("2026-01-01T04:00")) is None
    assert BoundedTimetable(rule).count(at("2026-01-01T09:00"), at("2026-01-01T01:00")) == 0


def test_an_interval_before_its_first_time_has_none() -> None:
    table = BoundedTimetable(Rule(interval_ms=HOUR, anchor=at("2026-01-01T00:00")))

    assert table.next_after(at("2020-01-01T00:00")) == at("2026-01-01T01:00")
    assert table.count(at("2020-01-01T00:00"), at("2026-01-01T00:59")) == 0
    assert table.count(at("2020-01-01T00:00"), at("2026-01-01T01:00")) == 1
    assert table.count(at("2026-01-01T02:00"), at("2026-01-01T01:00")) == 0


def test_the_same_question_has_the_same_answer_after_another() -> None:
    table = BoundedTimetable(Rule(cron="0 * * * *"))
    first, second = at("2026-01-01T00:30"), at("2026-01-01T01:30")

    answers = [table.next_after(one) for one in (first, first, second, first)]

    assert answers == [at("2026-01-01T01:00"), at("2026-01-01T01:00"), at("2026-01-01T02:00"), at("2026-01-01T01:00")]


@pytest.mark.parametrize("cron", ["0 * * * *", "0 0 * * *", "* * * * * *"])
def test_a_rule_without_an_end_ends_with_the_calendar(cron: str) -> None:
    table = BoundedTimetable(Rule(cron=cron))
    last = Instant(LAST_SECOND * 1000)

    assert table.next_after(last) is None
    assert table.next_after(Instant(last + HOUR)) is None
    assert table.count(Instant(last - 1), LATEST) == 0
    assert table.count(Instant(last - 1000), Instant(last - 1)) == 0
    assert table.count(last, Instant(last + HOUR)) == 0
    assert table.next_after(Instant(last - 3 * 24 * HOUR)) is not None


SPRING = ("2026-03-29T00:00+01:00", "2026-03-29T06:00+02:00")
AUTUMN = ("2026-10-25T00:00+02:00", "2026-10-25T06:00+01:00")


@pytest.mark.parametrize(
    ("cron", "span", "found"),
    [
        ("30 2 * * *", SPRING, ["29 01:00"]),
        ("0,30 2 * * *", SPRING, ["29 01:00"]),
        ("0,30 1,2,3 * * *", SPRING, ["29 00:00", "29 00:30", "29 01:00", "29 01:30"]),
        ("30 1,2,3 * * *", SPRING, ["29 00:30", "29 01:00", "29 01:30"]),
        ("0 2,3 * * *", SPRING, ["29 01:00"]),
        ("59 1,2 * * *", SPRING, ["29 00:59", "29 01:00"]),
        ("*/30 2 * * *", SPRING, []),
        ("*/30 1-3 * * *", SPRING, ["29 00:00", "29 00:30", "29 01:00", "29 01:30"]),
        ("30 2 * * *", AUTUMN, ["25 00:30"]),
        ("0,30 1,2,3 * * *", AUTUMN, ["24 23:00", "24 23:30", "25 00:00", "25 00:30", "25 02:00", "25 02:30"]),
        ("*/30 2 * * *", AUTUMN, ["25 00:00", "25 00:30", "25 01:00", "25 01:30"]),
    ],
)
def test_times_of_the_day_fire_once_and_others_follow_the_clock(
    cron: str, span: tuple[str, str], found: list[str]
) -> None:
    assert times(Rule(cron=cron, timezone=BERLIN), *span) == found


@pytest.mark.parametrize("cron", ["0,30 1,2,3 * * *", "*/30 1-3 * * *", "30 2 * * *", "15 */2 * * *"])
@pytest.mark.parametrize("span", [SPRING, AUTUMN])
def test_a_span_is_counted_wherever_it_is_cut(cron: str, span: tuple[str, str]) -> None:
    table = BoundedTimetable(Rule(cron=cron, timezone=BERLIN))
    begin, end = (at(text) for text in span)
    whole = list(table.times(begin, end))

    for cut in range(begin, end, 10 * MINUTE):
        before, after = Instant(cut), Instant(cut + 1000)
        assert table.count(begin, before) == sum(one <= before for one in whole)
        assert table.count(after, end) == sum(one > after for one in whole)
        later = [one for one in whole if one > before]
        assert not later or table.next_after(before) == later[0]


@pytest.mark.parametrize("minutes", range(-15, 121, 15))
def test_a_rule_that_fires_seldom_fires_in_both_hours_that_the_clock_shows_twice(minutes: int) -> None:
    table = BoundedTimetable(Rule(cron="*/30 2 25 10 */7", timezone=BERLIN))  # where that is a Sunday
    days = ("2026-10-25", "2037-10-25", "2043-10-25", "2048-10-25")
    every = [at(f"{day}T{time}") for day in days for time in ("00:00", "00:30", "01:00", "01:30")]
    begin = Instant(every[0] + minutes * MINUTE)

    found = list(table.times(begin, at("2050-01-01T00:00")))

    assert found == [time for time in every if time > begin]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"])
def test_a_rule_that_fires_seldom_fires_by_a_clock_far_from_utc(zone: str) -> None:
    table = BoundedTimetable(Rule(cron="*/59 */23 29 2 */7", timezone=zone))

    found = list(table.times(at("2026-01-01T00:00"), at("2100-01-01T00:00")))

    assert [f"{zone_of(zone).shown(one):%Y-%m-%d %H:%M}" for one in found] == [
        f"{year}-02-29 {time}" for year in (2032, 2060, 2088) for time in ("00:00", "00:59", "23:00", "23:59")
    ]


def test_a_rule_of_a_zone_far_from_utc_fires_by_its_clock() -> None:
    for zone, first in (("Pacific/Kiritimati", "2026-01-01T10:30"), ("Pacific/Pago_Pago", "2026-01-01T11:30")):
        for cron, count in (("30 0 * * *", 7), ("30 */12 * * *", 14)):
            table = BoundedTimetable(Rule(cron=cron, timezone=zone))
            assert table.next_after(at("2026-01-01T00:00")) == at(first)
            assert table.count(at("2026-01-01T00:00"), at("2026-01-08T00:00")) == count


def test_a_day_that_a_zone_has_left_out_fires_at_its_end() -> None:
    # Samoa went from the 29th to the 31st of December 2011.
    span = "2011-12-29T00:00", "2012-01-01T00:00"

    assert times(Rule(cron="0 12 * * *", timezone="Pacific/Apia"), *span) == [
        "29 22:00", "30 10:00", "30 22:00", "31 22:00",
    ]  # fmt: skip
    assert times(Rule(cron="0 */12 * * *", timezone="Pacific/Apia"), *span) == [
        "29 10:00", "29 22:00", "30 10:00", "30 22:00", "31 10:00", "31 22:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("most", "found"), [(0, []), (-1, []), (1, ["02:00"]), (2, ["01:00", "02:00"]), (9, ["00:00", "01:00", "02:00"])]
)
def test_the_latest_times_are_found_from_the_end(most: int, found: list[str]) -> None:
    table = BoundedTimetable(Rule(cron="0 * * * *"))

    latest = table.latest(at("2025-12-31T23:59"), at("2026-01-01T02:00"), most=most)

    assert [f"{datetime.fromtimestamp(one / 1000, UTC):%H:%M}" for one in latest] == found


def test_the_latest_times_of_a_rare_rule_are_found_far_back_and_no_farther_than_asked() -> None:
    table = BoundedTimetable(Rule(cron="0 0 1 1 *"))
    until = at("2026-06-01T00:00")

    assert table.latest(at("2000-01-01T00:00"), until, most=2) == [at("2025-01-01T00:00"), at("2026-01-01T00:00")]
    assert table.latest(at("2025-06-01T00:00"), until, most=2) == [at("2026-01-01T00:00")]
    assert table.latest(at("2026-01-01T00:00"), until, most=2) == []


@pytest.mark.parametrize(
    ("cron", "after", "notes"),
    [
        ("30 2 * * *", "2026-03-28T12:00", [("29 03:00", MOVED), ("30 02:30", None)]),
        ("30 2 * * *", "2026-10-24T12:00", [("25 02:30", TWICE), ("26 02:30", None)]),
        ("*/30 2 * * *", "2026-10-24T12:00", [("25 02:00", BOTH), ("25 02:30", BOTH)]),
        ("0 3 * * *", "2026-10-24T12:00", [("25 03:00", None)]),
        ("59 1 * * *", "2026-10-24T12:00", [("25 01:59", None)]),
        ("0 3 * * *", "2026-03-28T12:00", [("29 03:00", None)]),
    ],
)
def test_a_coming_time_says_what_the_clock_makes_of_it(
    cron: str, after: str, notes: list[tuple[str, str | None]]
) -> None:
    coming = upcoming(Rule(cron=cron, timezone=BERLIN), after=at(after), count=len(notes))

    assert [(f"{one.local:%d %H:%M}", one.note) for one in coming] == notes


def test_the_times_to_come_are_as_many_as_asked_for_and_not_after_the_end() -> None:
    rule = Rule(interval_ms=HOUR, anchor=at("2026-01-01T00:00"), timezone=BERLIN)
    first = at("2026-01-01T01:00")

    assert upcoming(rule, after=at("2026-01-01T00:00"), count=1) == [FireTime(first, zone_of(BERLIN).shown(first))]
    assert len(upcoming(rule, after=at("2026-01-01T00:00"), count=5)) == 5
    assert len(upcoming(rule, after=at("2026-01-01T00:00"), count=5, until=at("2026-01-01T03:00"))) == 3
    assert upcoming(rule, after=first, count=1)[0].local.utcoffset() == timedelta(hours=1)


def test_a_rule_says_when() -> None:
    with pytest.raises(ValueError, match=r"^a rule needs cron, interval_ms or run_at$"):
        BoundedTimetable(Rule())
