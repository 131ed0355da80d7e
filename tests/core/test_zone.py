"""Zones are shared by all threads of a process: who looks for one second gets the answer for that one."""

import tracemalloc
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from drumline.core.clock import LATEST, Instant
from drumline.core.errors import Invalid
from drumline.core.timetable import Rule, timetable
from drumline.core.zone import DAY, LAST_SECOND, LAST_YEAR, REGULAR_FROM, OffsetPeriod, Zone, zone_of

WINTER, SUMMER = 1_737_000_000, 1_752_000_000


class Interrupted(Zone):
    """A zone in which another thread comes in between, whenever something is written."""

    other: int | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_last" and self.other is not None:
            other, self.other = self.other, None
            self.stretch(other)


def test_a_look_is_answered_for_its_own_second_whoever_looks_meanwhile() -> None:
    zone = Interrupted("Europe/Berlin", ZoneInfo("Europe/Berlin"))
    zone.other = SUMMER

    found = zone.stretch(WINTER)

    assert isinstance(found, OffsetPeriod)
    assert found.start <= WINTER < found.end
    assert found.offset == 3600


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "America/New_York"])
@pytest.mark.parametrize("cron", ["0 3 * * *", "* * * * *", "0 0 29 2 *"])
def test_rules_end_with_the_calendar_and_break_nothing(name: str, cron: str) -> None:
    rule = timetable(Rule(cron=cron, timezone=name))

    for at in (LATEST, LATEST - 1000, LATEST - 86_400_000 * 400, LATEST + 10**9):
        found = rule.next_after(Instant(at))
        assert found is None or found <= LATEST
        assert rule.count(Instant(at - 1000), Instant(at)) >= 0
    assert zone_of(name).shown(LATEST).year == 9999


def second(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[arg-type, misc]


BERLIN_2025 = [
    OffsetPeriod(second(2025, 1, 1), second(2025, 3, 30, 1), 3600),
    OffsetPeriod(second(2025, 3, 30, 1), second(2025, 10, 26, 1), 7200),
    OffsetPeriod(second(2025, 10, 26, 1), second(2026, 1, 1), 3600),
]


def test_a_year_is_cut_where_its_clocks_are_changed_to_the_second() -> None:
    zone = Zone("Europe/Berlin", ZoneInfo("Europe/Berlin"))

    assert list(islice(zone.stretches(second(2025, 1, 1)), 3)) == BERLIN_2025
    assert list(islice(zone.stretches(second(2025, 7, 1)), 2)) == BERLIN_2025[1:]
    for stretch in BERLIN_2025:
        assert zone.stretch(stretch.start) == zone.stretch(stretch.end - 1) == stretch
        assert zone.stretch(stretch.start + 1) == stretch


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/Santiago", "Africa/Casablanca", "Australia/Lord_Howe"])
def test_years_far_ahead_are_cut_as_near_ones_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = second(REGULAR_FROM, 1, 1)
    quick = list(islice(Zone(name, ZoneInfo(name)).stretches(begin), 30))
    monkeypatch.setattr("drumline.core.zone.REGULAR_FROM", LAST_YEAR)

    thorough = list(islice(Zone(name, ZoneInfo(name)).stretches(begin), 30))

    assert quick == thorough


def test_a_zone_keeps_no_more_than_some_of_its_years_in_memory() -> None:
    zone = Zone("Europe/Berlin", ZoneInfo("Europe/Berlin"))
    begin = second(2030, 1, 1)
    first = list(islice(zone.stretches(begin), 12))
    tracemalloc.start()

    last = list(islice(zone.stretches(second(2100, 1, 1)), 3000))[-1]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert last.end == second(3100, 1, 1)
    assert held < 200_000
    assert list(islice(zone.stretches(begin), 12)) == first


def test_the_stretches_of_a_zone_leave_out_no_second() -> None:
    zone = Zone("Europe/Berlin", ZoneInfo("Europe/Berlin"))

    found = list(islice(zone.stretches(second(2023, 5, 5)), 12))

    assert [first.end for first, _ in pairwise(found)] == [then.start for _, then in pairwise(found)]
    assert found[0].start == second(2023, 3, 26, 1)


def test_the_stretches_of_a_zone_end_with_the_calendar() -> None:
    zone = Zone("UTC", UTC)

    assert list(zone.stretches(second(LAST_YEAR - 1, 6, 1))) == [
        OffsetPeriod(second(LAST_YEAR - 1, 1, 1), second(LAST_YEAR, 1, 1), 0),
        OffsetPeriod(second(LAST_YEAR, 1, 1), second(LAST_YEAR + 1, 1, 1), 0),
    ]
    assert second(LAST_YEAR + 1, 1, 1) - LAST_SECOND == 3 * DAY


def test_a_change_of_some_minutes_in_the_middle_of_a_day_is_found() -> None:
    # Caracas moved its clocks by half an hour at 3:00 on 9 December 2007 and at 2:30 on 1 May 2016.
    zone = Zone("America/Caracas", ZoneInfo("America/Caracas"))

    assert zone.stretch(second(2016, 4, 30)).end == second(2016, 5, 1, 7)
    assert [one.offset for one in islice(zone.stretches(second(2016, 1, 1)), 2)] == [-16_200, -14_400]


def test_an_instant_is_shown_by_the_clock_of_its_zone() -> None:
    summer = zone_of("Europe/Berlin").shown(Instant(SUMMER * 1000 + 250))

    assert summer.isoformat() == "2025-07-08T20:40:00.250000+02:00"
    assert zone_of("Pacific/Kiritimati").shown(LATEST) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_utc_is_known_by_its_short_names() -> None:
    for name in ("UTC", "utc", "Z", "z"):
        assert (zone_of(name).name, zone_of(name).info) == ("UTC", UTC)
    assert (zone_of("Asia/Tokyo").name, zone_of("Asia/Tokyo").info) == ("Asia/Tokyo", ZoneInfo("Asia/Tokyo"))
    assert zone_of("Asia/Tokyo") is zone_of("Asia/Tokyo")


@pytest.mark.parametrize(
    ("name", "near"),
    [("Europe/Berlinn", "; did you mean Europe/Berlin?"), ("Nowhere", ""), ("../x", ""), ("Europe", "")],
)
def test_a_zone_that_is_not_there_is_refused_with_the_nearest_name(name: str, near: str) -> None:
    with pytest.raises(Invalid) as refused:
        zone_of(name)

    text = f"timezone: {name!r} is not a time zone such as Europe/Berlin"
    assert str(refused.value).startswith(text + (near and "; "))
    assert ("Europe/Berlin" in str(refused.value).removeprefix(text)) is bool(near)
