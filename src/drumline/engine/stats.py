"""Figures over time, in the width that fits the stretch that is asked for."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.duration import millis
from drumline.core.errors import Invalid
from drumline.core.stats import STEPS, Series, StatsRange, UsualDurations, series, usual_durations
from drumline.ports.store import Store

LONGEST: Final = timedelta(days=8)
SHORTEST: Final = timedelta(minutes=1)
FINE_UNTIL: Final = timedelta(hours=6)
"""How far back minutes are kept; longer stretches are shown in steps of ten."""


class Chart(Struct, frozen=True, kw_only=True):
    """Figures of every bucket of a stretch of time."""

    since: Instant
    until: Instant
    step: int
    points: tuple[Series, ...]


class StatsService:
    """Reads the charts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def chart(
        self, *, last: timedelta, tenant: str | None = None, queue: str | None = None, name: str | None = None
    ) -> Chart:
        """Return the figures of the last minutes, hours or days."""
        stretch = await self._stretch(last, tenant=tenant, queue=queue, name=name)
        stats = await self._store.stats.read_stats(stretch)
        levels = await self._store.stats.read_depth(stretch)
        points = tuple(series(stretch, stats, levels))
        return Chart(since=stretch.since, until=Instant(stretch.until - 1), step=stretch.step, points=points)

    async def usual(
        self, names: Sequence[str], *, last: timedelta, tenant: str | None = None
    ) -> tuple[UsualDurations, ...]:
        """Return how long tasks of each name waited and ran in the last minutes, hours or days."""
        stretch = await self._stretch(last, tenant=tenant)
        return tuple(usual_durations(names, await self._store.stats.read_durations(names, stretch)))

    async def _stretch(
        self, last: timedelta, *, tenant: str | None, queue: str | None = None, name: str | None = None
    ) -> StatsRange:
        """Return the buckets of the last minutes, hours or days."""
        if not SHORTEST <= last <= LONGEST:
            raise Invalid("must be from 1m to 8d", field="last")
        step = STEPS[0] if last <= FINE_UNTIL else STEPS[1]
        until = await self._store.queries.now()
        since = Instant(until - millis(last))
        first = Instant(since - since % step)
        return StatsRange(since=first, until=Instant(until + 1), step=step, tenant=tenant, queue=queue, name=name)
