"""Time zones as stretches of one offset each, so that finding fire times is arithmetic on whole seconds.

Where the system has no zone database, the package `tzdata` brings one; `zoneinfo` finds it by itself.
"""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.json_errors import suggestion

LAST_YEAR: Final = 9998
"""Nothing is looked for after it: the calendar of Python ends a year later."""
DAY: Final = 86_400
LOOK_EVERY: Final = DAY
"""Seconds between two looks at a zone's offset; no zone has changed it twice within so short a time."""
REGULAR_FROM: Final = 2100
"""The first year in which zones have at most the two changes of their rule: no zone lists changes so far ahead."""
REGULAR_LOOK_EVERY: Final = 28 * DAY
"""Seconds between two looks in such a year."""
MOST_YEARS: Final = 128
"""Years of a zone that are kept in memory."""
CALENDAR_END: Final = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp())
"""The first second of the year after the last."""
LAST_SECOND: Final = CALENDAR_END - 3 * DAY
"""No rule fires from here on: from every second before it there is room to look a day ahead in any zone."""


class OffsetPeriod(NamedTuple):
    """A span of time, from `start` up to `end` in seconds since 1970, in which clocks differ from UTC by `offset`."""

    start: int
    end: int
    offset: int


class Zone:
    """The stretches of one zone, year by year, made when they are first needed."""

    def __init__(self, name: str, info: tzinfo) -> None:
        self.name = name
        self.info = info
        self._year = lru_cache(MOST_YEARS)(lambda year: tuple(self._stretches_of(year)))
        self._last = OffsetPeriod(0, 0, 0)

    def shown(self, instant: Instant) -> datetime:
        """Return an instant by the zone's clock; in UTC at the very end of the calendar, which some clocks are past."""
        try:
            return datetime.fromtimestamp(instant / 1000, self.info)
        except (OverflowError, ValueError):
            return datetime.fromtimestamp(instant // 1000, UTC)

    def stretch(self, second: int) -> OffsetPeriod:
        """Return the stretch that a second lies in."""
        last = self._last
        if last.start <= second < last.end:
            return last
        year = self._year(datetime.fromtimestamp(second, UTC).year)
        # Another thread may look for another second in the meantime: what is returned is not read back.
        found = self._last = year[bisect_right(year, second, key=lambda one: one.start) - 1]
        return found

    def stretches(self, second: int) -> Iterator[OffsetPeriod]:
        """Yield the stretch that a second lies in and all that follow, as far as the calendar goes."""
        stretch = self.stretch(second)
        yield stretch
        for year in range(datetime.fromtimestamp(second, UTC).year, LAST_YEAR + 1):
            yield from (one for one in self._year(year) if one.start >= stretch.end)

    def _stretches_of(self, year: int) -> Iterator[OffsetPeriod]:
        start, end = (int(datetime(one, 1, 1, tzinfo=UTC).timestamp()) for one in (year, year + 1))
        offset = self._offset(start)
        every = LOOK_EVERY if year < REGULAR_FROM else REGULAR_LOOK_EVERY
        for look in range(start, end, every):
            until = min(look + every, end)
            if self._offset(until - 1) != offset:
                change = self._change(look - 1, until - 1, offset)
                yield OffsetPeriod(start, change, offset)
                start, offset = change, self._offset(change)
        yield OffsetPeriod(start, end, offset)

    def _change(self, before: int, after: int, offset: int) -> int:
        """Return the first second in which the offset is not the given one any more."""
        while after - before > 1:
            middle = (before + after) // 2
            if self._offset(middle) == offset:
                before = middle
            else:
                after = middle
        return after

    def _offset(self, second: int) -> int:
        shown = datetime.fromtimestamp(second, self.info).utcoffset()
        return 0 if shown is None else shown // timedelta(seconds=1)


@lru_cache(maxsize=1024)
def zone_of(name: str) -> Zone:
    """Return a zone by its IANA name, or raise `Invalid` naming the field `timezone`."""
    if name.upper() in {"UTC", "Z"}:
        return Zone("UTC", UTC)
    try:
        return Zone(name, ZoneInfo(name))
    except (KeyError, ValueError, OSError) as error:  # not there; not a key at all; a folder of zones
        known = _zone_names()
        near = _hint(name, known) if known else "; this machine knows none at all: pip install tzdata"
        raise Invalid(f"{name!r} is not a time zone such as Europe/Berlin{near}", field="timezone") from error


def _hint(name: str, known: frozenset[str]) -> str:
    """Return the nearest zone of a place; short names such as EST are seldom what was meant."""
    near = suggestion(name, [each for each in known if "/" in each])
    if not near and name.isupper() and "/" not in name:
        return "; abbreviations do not name one: give a region and a city"
    return near


@cache
def _zone_names() -> frozenset[str]:
    """Return the names of all zones; finding them reads hundreds of files, and every misspelt name asks for them."""
    return frozenset(available_timezones())
