"""Time, handed in.

`Clock` tells wall time to label and compare with stored times, and monotonic time to measure with. Production uses
`SystemClock`; tests move a `ManualClock` by hand. Stores that have a clock of their own (PostgreSQL) are given no
clock in production, so that one clock decides what is due for the whole fleet.
"""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import NewType, Protocol

from drumline.core.errors import Invalid

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01 00:00 UTC."""

LATEST = Instant(253_402_300_799_999)
"""The last millisecond of the year 9999: nothing can be scheduled after it."""
NEVER = LATEST
"""When a task is due that waits for something other than a time. It is shown as no time at all."""


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Instant:
        """Return wall time."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back, for measuring."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> Instant:
        """Return wall time."""
        return Instant(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        """Return the monotonic clock."""
        return time.monotonic()


class ManualClock:
    """A clock that moves only by `advance`."""

    def __init__(self, start: int = 1_700_000_000_000) -> None:
        self._now = start
        self._start = start

    def now(self) -> Instant:
        """Return the time it was moved to."""
        return Instant(self._now)

    def monotonic(self) -> float:
        """Return the seconds it was moved by."""
        return (self._now - self._start) / 1000

    def advance(self, seconds: float) -> None:
        """Move forward."""
        self._now += round(seconds * 1000)


def to_instant(moment: datetime, *, field: str) -> Instant:
    """Return a datetime as an instant, or raise `Invalid`: for one without a zone too, which could be any hour."""
    if moment.utcoffset() is None:
        raise Invalid("must have a time zone, such as 2026-01-02T03:04:05Z or 2026-01-02T03:04:05+01:00", field=field)
    try:
        millis = round(moment.timestamp() * 1000)
    except (OverflowError, OSError, ValueError) as error:
        raise Invalid("is outside the years 1970 to 9999", field=field) from error
    if not 0 <= millis <= LATEST:
        raise Invalid("is outside the years 1970 to 9999", field=field)
    return Instant(millis)


def to_datetime(instant: Instant) -> datetime:
    """Return an instant as an aware datetime in UTC; one that is stored and after `LATEST` as that."""
    return datetime.fromtimestamp(min(instant, LATEST) / 1000, UTC)


@lru_cache(maxsize=1024)  # times that are shown together are mostly equal
def moment_of(instant: Instant) -> str:
    """Return an instant as ISO 8601 in UTC with milliseconds; one that is stored and after `LATEST` as that."""
    seconds, millis = divmod(min(instant, LATEST), 1000)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}.{millis:03}Z"
