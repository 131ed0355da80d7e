"""When a schedule fires: at the times of a cron expression in a zone, every so often, or once.

**The rule for clocks that are set forward or back.** An expression is *fixed* when neither its minute nor its hour has
a star: it names times of the day. Each of them fires once a day that it names, however the clock is set:

- a time that the clock skips fires at the first instant after the skip, once, however many such times there are;
- a time that the clock shows twice fires the first time only.

Any other expression follows the clock as it goes: it fires whenever the clock shows a matching time, so not at all in
an hour that is skipped, and twice in one that is repeated. `0 * * * *` therefore fires once in every real hour.

Intervals are real time, whatever clocks show.
"""

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Final, Protocol

from msgspec import Struct

from drumline.core.clock import LATEST, Instant
from drumline.core.cron import Cron, parse_cron
from drumline.core.zone import CALENDAR_END, DAY, LAST_SECOND, Zone, zone_of

_SHORTEST_LOOK: Final = 60_000
_FARTHEST_EAST: Final = 15 * 3600
"""No clock is ahead of UTC by more seconds than this."""
_FARTHEST_WEST: Final = 15 * 3600
"""No clock is behind UTC by more seconds than this."""


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True, cache_hash=True):
    """When a schedule fires: exactly one of `cron`, `interval_ms` and `run_at`, with inclusive bounds."""

    cron: str | None = None
    interval_ms: int | None = None
    run_at: Instant | None = None
    timezone: str = "UTC"
    start: Instant | None = None
    end: Instant | None = None
    anchor: Instant = Instant(0)
    """Where an interval without a `start` is counted from: the first firing is one interval after it."""


class Timetable(Protocol):
    """The fire times of a rule, without its bounds."""

    def next_after(self, instant: Instant) -> Instant | None:
        """Return the first fire time after an instant."""
        ...

    def count(self, after: Instant, until: Instant) -> int:
        """Return how many fire times there are after an instant, up to and with another."""
        ...


class CronTimetable:
    """The fire times of an expression in a zone."""

    def __init__(self, cron: Cron, zone: Zone) -> None:
        self.cron = cron
        self.zone = zone

    def next_after(self, instant: Instant) -> Instant | None:
        """Return the first fire time after an instant."""
        second = instant // 1000
        if second >= LAST_SECOND:
            return None
        found = self._next_fixed(second) if self.cron.is_fixed else self._next_running(second + 1)
        return None if found is None else Instant(found * 1000)

    def count(self, after: Instant, until: Instant) -> int:
        """Return how many fire times there are after an instant, up to and with another."""
        start, end = after // 1000 + 1, min(until // 1000 + 1, LAST_SECOND)
        if start >= end:
            return 0
        return self._count_fixed(start, end) if self.cron.is_fixed else self._count_running(start, end)

    def _next_running(self, second: int) -> int | None:
        """Return the first second from this one on in which the clock shows a matching time."""
        while second < CALENDAR_END:
            _, end, offset = self.zone.stretch(second)
            label = self.cron.first_label(second + offset)
            if label is not None and label - offset < end:
                return label - offset
            # A rule may not match for centuries: no clock shows its next label much before it would in UTC. Where the
            # clock is set back at the end of the stretch, that label may be before the one that was looked for.
            label = self.cron.first_label(end - _FARTHEST_WEST)
            if label is None:
                return None
            second = max(end, label - _FARTHEST_EAST)
        return None

    def _next_fixed(self, second: int) -> int | None:
        label = self.cron.first_label(self._unseen(second))
        return None if label is None else self._instant_of(label)

    def _unseen(self, second: int) -> int:
        """Return the first label that the clock has not shown, nor skipped, by the end of a second."""
        stretches = self.zone.stretches(second - 2 * DAY)
        seen = 0
        for start, end, offset in stretches:
            if start > second:
                break
            seen = max(seen, min(end, second + 1) + offset)
        return seen

    def _instant_of(self, label: int) -> int | None:
        """Return when the clock shows a label first, or where it has just skipped it."""
        for start, end, offset in self.zone.stretches(label - _FARTHEST_EAST):
            if label - offset < end:
                return max(label - offset, start)
        return None

    def _count_running(self, start: int, end: int) -> int:
        total = 0
        for first, last, offset in self.zone.stretches(start):
            if first >= end:
                break
            total += self.cron.count(max(first, start) + offset, min(last, end) + offset)
        return total

    def _count_fixed(self, start: int, end: int) -> int:
        total, unseen = 0, self._unseen(start - 1)
        for first, last, offset in self.zone.stretches(start):
            if first >= end:
                break
            begin, stop = max(first, start) + offset, min(last, end) + offset
            if unseen < begin and self.cron.count(unseen, begin) and not self.cron.count(begin, begin + 1):
                total += 1  # those that were skipped fire together, at `begin`
            total += self.cron.count(max(begin, unseen), stop)
            unseen = max(unseen, stop)
        return total


class IntervalTimetable:
    """Fire times at equal distances from the first one."""

    def __init__(self, first: Instant, every: int) -> None:
        self._first = first
        self._every = every

    def next_after(self, instant: Instant) -> Instant | None:
        """Return the first fire time after an instant."""
        return Instant(self._first + self._passed(instant) * self._every)

    def count(self, after: Instant, until: Instant) -> int:
        """Return how many fire times there are after an instant, up to and with another."""
        return max(self._passed(until) - self._passed(after), 0)

    def _passed(self, instant: Instant) -> int:
        return max((instant - self._first) // self._every + 1, 0)


class OneTime:
    """A single fire time."""

    def __init__(self, instant: Instant) -> None:
        self._instant = instant

    def next_after(self, instant: Instant) -> Instant | None:
        """Return the fire time if it is after an instant."""
        return self._instant if instant < self._instant else None

    def count(self, after: Instant, until: Instant) -> int:
        """Return whether the fire time lies in between."""
        return int(after < self._instant <= until)


class BoundedTimetable:
    """A timetable between a start and an end."""

    def __init__(self, rule: Rule) -> None:
        self._plain = _plain(rule)
        self._before_start = Instant(0 if rule.start is None else rule.start - 1)
        self._end = LATEST if rule.end is None else rule.end
        self._known: tuple[Instant, Instant | None] = (Instant(-1), None)

    def next_after(self, instant: Instant) -> Instant | None:
        """Return the first fire time after an instant, or None if there is none any more."""
        # Schedules that fire at the same time often share a rule, and ask the same one after the other.
        asked, found = self._known
        if asked != instant:
            found = self._plain.next_after(max(instant, self._before_start))
            found = None if found is None or found > self._end else found
            self._known = (instant, found)
        return found

    def count(self, after: Instant, until: Instant) -> int:
        """Return how many fire times there are after an instant, up to and with another."""
        after, until = max(after, self._before_start), min(until, self._end)
        return self._plain.count(after, until) if after < until else 0

    def times(self, after: Instant, until: Instant = LATEST) -> Iterator[Instant]:
        """Yield the fire times after an instant, up to and with another."""
        instant = self.next_after(after)
        while instant is not None and instant <= until:
            yield instant
            instant = self.next_after(instant)

    def latest(self, after: Instant, until: Instant, *, most: int) -> list[Instant]:
        """Return the last few fire times after an instant, up to and with another, oldest first."""
        if most <= 0:
            return []
        look = _SHORTEST_LOOK
        begin = max(after, Instant(until - look))
        while begin > after and self.count(begin, until) < most:
            look *= 4
            begin = max(after, Instant(until - look))
        return list(deque(self.times(begin, until), maxlen=most))


@lru_cache(maxsize=16_384)
def timetable(rule: Rule) -> BoundedTimetable:
    """Return the fire times of a rule. Most rules are asked for over and over."""
    return BoundedTimetable(rule)


def _plain(rule: Rule) -> Timetable:
    if rule.run_at is not None:
        return OneTime(rule.run_at)
    if rule.interval_ms is not None:
        first = rule.start if rule.start is not None else Instant(rule.anchor + rule.interval_ms)
        return IntervalTimetable(first, rule.interval_ms)
    if rule.cron is None:
        raise ValueError("a rule needs cron, interval_ms or run_at")
    return CronTimetable(parse_cron(rule.cron), zone_of(rule.timezone))


MOVED: Final = "the clock skips this time: it fires right after the skip"
TWICE: Final = "the clock shows this time twice: it fires the first time"
BOTH: Final = "the clock shows this time twice: it fires both times"


class FireTime(Struct, frozen=True):
    """A time at which a rule fires; the same instant by the zone's clock; and what is odd about it, if anything."""

    instant: Instant
    local: datetime
    note: str | None = None


def upcoming(rule: Rule, *, after: Instant, count: int, until: Instant = LATEST) -> list[FireTime]:
    """Return the next fire times of a rule after an instant."""
    zone = zone_of(rule.timezone)
    cron = None if rule.cron is None else parse_cron(rule.cron)
    return [
        FireTime(
            instant,
            zone.shown(instant),
            None if cron is None else _note(cron, zone, instant // 1000),
        )
        for instant in islice(timetable(rule).times(after, until), count)
    ]


def _note(cron: Cron, zone: Zone, second: int) -> str | None:
    stretches = zone.stretches(second)
    here, there = next(stretches), next(stretches, None)
    label = second + here.offset
    if not cron.count(label, label + 1):
        return MOVED
    if there is not None and there.start <= label - there.offset < there.end:
        return TWICE if cron.is_fixed else BOTH
    return None
