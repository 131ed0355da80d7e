"""Figures over time: added up over the shards."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import lcm

from drumline.core.clock import Instant
from drumline.core.stats import CountedEvents, DurationCount, Figure, Level, Measure, Stat, StatsRange
from drumline.shards.parts.merging import Part, earliest


class Stats(Part):
    """`ports.stats.Stats`."""

    async def gather_stats(self, *, limit: int) -> CountedEvents:
        """Count what the next rows of each log say, up to `limit` rows in all, and return what that was."""
        found = await self._router.in_turn(
            limit, lambda store, left: store.stats.gather_stats(limit=left), count=lambda counted: counted.rows
        )
        figures = _added(figure for counted in found for figure in counted.figures)
        return CountedEvents(sum(counted.rows for counted in found), tuple(figures))

    async def read_stats(self, stretch: StatsRange) -> list[Stat]:
        """Return the figures of a stretch of time, summed over the lanes that it narrows to."""
        counts: Counter[tuple[Instant, Measure, int]] = Counter()
        for stats in await self._router.each(lambda store: store.stats.read_stats(stretch)):
            for stat in stats:
                counts[stat.at, stat.measure, stat.duration] += stat.count
        return [
            Stat(at=at, measure=measure, duration=duration, count=counts[at, measure, duration])
            for at, measure, duration in sorted(counts)
        ]

    async def read_durations(self, names: Sequence[str], stretch: StatsRange) -> list[DurationCount]:
        """Return how long tasks of these names waited and ran in a stretch of time."""
        counts: Counter[tuple[str, Measure, int]] = Counter()
        for found in await self._router.each(lambda store: store.stats.read_durations(names, stretch)):
            for each in found:
                counts[each.name, each.measure, each.duration] += each.count
        return [
            DurationCount(name=name, measure=measure, duration=duration, count=count)
            for (name, measure, duration), count in counts.items()
        ]

    async def total_stats(self) -> list[Figure]:
        """Return what happened since the beginning, by queue and name, of all tenants together."""
        found = await self._router.each(lambda store: store.stats.total_stats())
        return _added(figure for figures in found for figure in figures)

    async def sample_depth(self, *, apart_ms: int) -> bool:
        """Note how many tasks of each lane are due and wait to be run, unless that was done in the last `apart_ms`."""
        return any(await self._router.all(lambda store: store.stats.sample_depth(apart_ms=apart_ms)))

    async def read_depth(self, stretch: StatsRange) -> list[Level]:
        """Return how many tasks waited, of each bucket in which samples were taken; 0 is a level like any other.

        The mean of a bucket is the sum of the shards' means, each with as many samples as that shard has taken.
        """
        levels: dict[Instant, list[Level]] = {}
        for found in await self._router.each(lambda store: store.stats.read_depth(stretch)):
            for level in found:
                levels.setdefault(level.at, []).append(level)
        return [_sum(levels[at]) for at in sorted(levels)]

    async def oldest_due(self, *, tenant: str | None, queue: str | None, name: str | None) -> Instant | None:
        """Return when the task was due that has been due and waiting for longest."""
        return earliest(
            await self._router.each(lambda store: store.stats.oldest_due(tenant=tenant, queue=queue, name=name))
        )

    async def oldest_fire(self, *, tenant: str | None, schedule: str | None, since: Instant) -> Instant | None:
        """Return when the fire of a schedule was due that has been due for longest and has not begun."""
        return earliest(
            await self._router.each(
                lambda store: store.stats.oldest_fire(tenant=tenant, schedule=schedule, since=since)
            )
        )

    async def prune_stats(self, *, step: int, before: Instant) -> int:
        """Delete the figures of one width from before a time; return how many."""
        return sum(await self._router.all(lambda store: store.stats.prune_stats(step=step, before=before)))


def _sum(levels: list[Level]) -> Level:
    samples = lcm(*(level.samples for level in levels))
    total = sum(level.total * samples // level.samples for level in levels)
    return Level(at=levels[0].at, total=total, samples=samples)


def _added(figures: Iterable[Figure]) -> list[Figure]:
    counts: Counter[tuple[str, str, Measure, int]] = Counter()
    totals: Counter[tuple[str, str, Measure, int]] = Counter()
    for figure in figures:
        place = (figure.queue, figure.name, figure.measure, figure.duration)
        counts[place] += figure.count
        totals[place] += figure.total_ms
    return [
        Figure(queue=queue, name=name, measure=measure, duration=duration, count=count, total_ms=totals[place])
        for place, count in sorted(counts.items())
        for queue, name, measure, duration in [place]
    ]
