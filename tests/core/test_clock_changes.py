"""Clocks that are set forward or back: every zone, every change from 2015 to 2040, against the rule as it is written.

The rule, from the page on schedules, stated once more and on its own: nothing here uses Drumline's calendar. The wall
clock is `zoneinfo`'s, read minute by minute around each change.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import pytest

from drumline.core.clock import Instant
from drumline.core.timetable import Rule, timetable

FIRST, LAST = (datetime(year, 1, 1, tzinfo=UTC) for year in (2015, 2041))
STEP = timedelta(days=5)
HOUR = 3600
AROUND = 3 * HOUR


class Change(NamedTuple):
    """A clock is set: at an instant, from one offset to another (all in seconds)."""

    at: int
    before: int
    after: int


class Times(NamedTuple):
    """An expression, and what it means: the times of the day at which it matches."""

    cron: str
    is_fixed: bool
    minutes: frozenset[int]
    hours: frozenset[int]
    second: int = 0


def offset(zone: ZoneInfo, second: int) -> int:
    shown = datetime.fromtimestamp(second, zone).utcoffset()
    assert shown is not None
    return int(shown.total_seconds())


def changes(zone: ZoneInfo) -> Iterator[Change]:
    looks = [int((FIRST + number * STEP).timestamp()) for number in range((LAST - FIRST) // STEP + 1)]
    for start, end in pairwise(looks):
        before, after = offset(zone, start), offset(zone, end)
        low, high = start, end
        while before != after and high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
        if before != after:
            yield Change(high, before, after)


def expressions(change: Change) -> Iterator[Times]:
    """Yield expressions that meet a change: the hours that are skipped or repeated, and those beside them."""
    last_shown, first_shown = change.at + change.before, change.at + change.after
    hours = {(label // HOUR + beside) % 24 for label in (last_shown, first_shown) for beside in (-1, 0, 1)}
    every_hour = frozenset(range(24))
    for hour in sorted(hours):
        yield Times(f"30 {hour} * * *", True, frozenset({30}), frozenset({hour}))
    hour = last_shown // HOUR % 24
    later = (hour + 1) % 24
    yield Times(f"0,15,59 {hour},{later} * * *", True, frozenset({0, 15, 59}), frozenset({hour, later}))
    yield Times(f"10 45 {hour} * * *", True, frozenset({45}), frozenset({hour}), second=10)
    yield Times(f"*/20 {hour} * * *", False, frozenset({0, 20, 40}), frozenset({hour}))
    yield Times("0 * * * *", False, frozenset({0}), every_hour)
    yield Times("25 */2 * * *", False, frozenset({25}), frozenset(range(0, 24, 2)))
    yield Times("5 0,30 * * * *", False, frozenset({0, 30}), every_hour, second=5)


class Minute(NamedTuple):
    """A minute around a change: when it begins, or nothing if the clock skips it; and what the clock shows."""

    at: int | None
    label: int
    hour: int
    minute: int
    is_first: bool


@lru_cache(maxsize=4)
def minutes(change: Change) -> list[Minute]:
    """Return what the clock shows around a change, minute by minute, and then what it skips."""
    found, labels = [], set()
    for at in range(change.at - AROUND - 2 * HOUR, change.at + AROUND + 2 * HOUR, 60):
        label = at + (change.before if at < change.at else change.after)
        found.append(Minute(at, label, label // HOUR % 24, label // 60 % 60, label not in labels))
        labels.add(label)
    skipped = range(change.at + change.before, change.at + change.after, 60)
    return found + [Minute(None, label, label // HOUR % 24, label // 60 % 60, is_first=True) for label in skipped]


@cache
def expected(change: Change, times: Times) -> list[int]:
    """Return when an expression fires around a change, by the rule."""
    firings = set()
    for at, _, hour, minute, is_first in minutes(change):
        if minute not in times.minutes or hour not in times.hours:
            continue
        if at is None:
            # Skipped: fixed times fire at the first instant after.
            firings.update([change.at] if times.is_fixed else [])
        elif is_first or not times.is_fixed:
            # Shown twice: fixed times fire the first time.
            firings.add(at + times.second)
    return sorted(second for second in firings if abs(second - change.at) <= AROUND)


def rule(times: Times, zone: str) -> Rule:
    return Rule(cron=times.cron, timezone=zone)


def instant(second: int) -> Instant:
    return Instant(second * 1000)


def all_changes() -> dict[Change, list[str]]:
    found: dict[Change, list[str]] = {}
    for name in sorted(available_timezones() - {"localtime", "Factory"}):
        for change in changes(ZoneInfo(name)):
            found.setdefault(change, []).append(name)
    return found


@pytest.fixture(scope="module")
def every_change() -> dict[Change, list[str]]:
    return all_changes()


def test_the_rule_holds_at_every_change_of_every_zone(every_change: dict[Change, list[str]]) -> None:
    """Each zone is asked at each of its changes; what is expected there is worked out once for all that share it."""
    assert len(every_change) > 1000
    wrong = []
    for change, zones in every_change.items():
        around = instant(change.at - AROUND - 1), instant(change.at + AROUND)
        for number, times in enumerate(expressions(change)):
            want = [instant(second) for second in expected(change, times)]
            # Zones that share a change differ only in name: each is asked some of the questions, and all are asked.
            for zone in zones[number % 3 :: 3] or zones[:1]:
                table = timetable.__wrapped__(rule(times, zone))
                got = list(table.times(*around))
                if got != want or table.count(*around) != len(want):
                    wrong.append((zone, times.cron, datetime.fromtimestamp(change.at, UTC).isoformat(), got, want))
    assert wrong == []


def test_the_next_firing_is_found_from_any_instant(every_change: dict[Change, list[str]]) -> None:
    for change, (zone, *_) in list(every_change.items())[::7]:
        for times in expressions(change):
            firings = [instant(second) for second in expected(change, times)]
            table = timetable.__wrapped__(rule(times, zone))
            for start in range(change.at - 2 * HOUR, change.at + 2 * HOUR, 17 * 60):
                later = [firing for firing in firings if firing > instant(start)]
                if later:
                    assert table.next_after(instant(start)) == later[0], (zone, times.cron, start)


def test_berlin_in_words() -> None:
    def fires(cron: str, day: str) -> list[str]:
        start = datetime.fromisoformat(f"{day}T00:00:00+00:00") - timedelta(hours=3)
        span = [Instant(int(moment.timestamp() * 1000)) for moment in (start, start + timedelta(hours=12))]
        found = timetable(Rule(cron=cron, timezone="Europe/Berlin")).times(*span)
        zone = ZoneInfo("Europe/Berlin")
        return [f"{datetime.fromtimestamp(one / 1000, zone):%H:%M%z}" for one in found]

    spring, autumn = "2026-03-29", "2026-10-25"
    assert fires("30 2 * * *", spring) == ["03:00+0200"]
    assert fires("0,30 2,3 * * *", spring) == ["03:00+0200", "03:30+0200"]
    assert fires("30 2 * * *", autumn) == ["02:30+0200"]
    assert fires("*/30 2 * * *", spring) == []
    assert fires("*/30 2 * * *", autumn) == ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100"]
