"""Fire times are counted by the days of a zone, however many there are."""

from datetime import UTC, date, datetime
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest

from drumline.core.clock import Instant
from drumline.core.fires_by_day import fires_by_day
from drumline.core.timetable import Rule, timetable


def at(text: str) -> Instant:
    return Instant(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000))


@pytest.mark.parametrize(
    "rule",
    [
        Rule(cron="*/20 * * * *", timezone="Europe/Berlin"),
        Rule(cron="30 2 * * *", timezone="Europe/Berlin"),
        Rule(cron="0 0 * * mon-fri", timezone="America/St_Johns"),
        Rule(interval_ms=7_000_000, timezone="Asia/Kolkata", anchor=at("2026-03-01")),
        Rule(cron="*/45 * * * *", start=at("2026-03-28T10:00"), end=at("2026-03-30T11:00")),
    ],
)
@pytest.mark.parametrize("after", ["2026-03-27T22:10", "2026-10-23T01:00"])
def test_the_counts_are_those_of_the_listed_fire_times(rule: Rule, after: str) -> None:
    found = fires_by_day(rule, after=at(after), days=6)

    zone = ZoneInfo(rule.timezone)
    listed: dict[date, int] = {}
    last = found[-1].day if found else date.min
    days = (datetime.fromtimestamp(time / 1000, zone).date() for time in timetable(rule).times(at(after)))
    for day in takewhile(lambda one: one <= last, days):
        listed[day] = listed.get(day, 0) + 1
    assert {one.day: one.count for one in found if one.count} == listed
    assert len(found) in {0, 6}


def test_a_rule_for_every_second_is_counted_for_a_year() -> None:
    found = fires_by_day(Rule(interval_ms=1000), after=at("2026-01-01T12:00"), days=366)

    assert [one.count for one in found[:2]] == [43_200 - 1, 86_400]
    assert len(found) == 366


def test_the_days_end_with_the_calendar() -> None:
    assert len(fires_by_day(Rule(cron="0 0 * * *"), after=at("9999-12-20"), days=366)) < 20
