"""The next fire times of a rule in its time zone, with a note where clocks change."""

from datetime import datetime
from itertools import islice
from typing import Final

from msgspec import Struct

from drumline.core.clock import LATEST, Instant
from drumline.core.cron import Cron, parse_cron
from drumline.core.timetable import Rule, timetable
from drumline.core.zone import Zone, zone_of

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
