"""How often a rule fires on each day of its zone, counted without listing the fire times."""

from datetime import date

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.timetable import Rule, timetable
from drumline.core.zone import DAY, LAST_SECOND, Zone, zone_of


class DayFires(Struct, frozen=True):
    """A day of a zone, and how many fire times it has."""

    day: date
    count: int


def fires_by_day(rule: Rule, *, after: Instant, days: int) -> list[DayFires]:
    """Return how often a rule fires after an instant on each of so many days, from the day of the next fire time on."""
    times, zone = timetable(rule), zone_of(rule.timezone)
    first = times.next_after(after)
    if first is None:
        return []
    begin = zone.shown(first).date().toordinal()
    found: list[DayFires] = []
    before = after
    for number in range(begin, begin + days):
        end = _midnight(zone, number + 1)
        if end is None:
            break
        found.append(DayFires(date.fromordinal(number), times.count(before, Instant(end - 1))))
        before = Instant(end - 1)
    return found


def _midnight(zone: Zone, ordinal: int) -> Instant | None:
    """Return when a day begins by the zone's clock; None where the calendar ends."""
    label = (ordinal - date(1970, 1, 1).toordinal()) * DAY
    if label + 2 * DAY >= LAST_SECOND:
        return None
    for start, end, offset in zone.stretches(label - DAY):
        if label - offset < end:
            return Instant(max(label - offset, start) * 1000)
    return None
