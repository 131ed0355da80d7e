"""Figures over time. How they are counted from the log of events is in `stats.py` of each store."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import structs

from drumline.core.clock import Instant
from drumline.core.stats import STEPS, DurationCount, Figure, Level, Measure, Stat, StatsRange
from drumline.stores.driver import Line, Part, Transaction


class StatsTables(Part):
    """`ports.stats.Stats`, but for `gather_stats`."""

    async def read_stats(self, stretch: StatsRange) -> list[Stat]:
        """Return the figures of a stretch of time, summed over the lanes that it narrows to."""
        rows = await self._database.fetch(
            Line.REQUEST, "read_stats", repeat=True, within=stretch.tenant, **structs.asdict(stretch)
        )
        return [
            Stat(at=Instant(at), measure=Measure(measure), duration=duration, count=count)
            for at, measure, duration, count in rows
        ]

    async def read_durations(self, names: Sequence[str], stretch: StatsRange) -> list[DurationCount]:
        """Return how long tasks of these names waited and ran in a stretch of time."""
        which = structs.asdict(stretch) | {"names": list(names)}
        del which["name"]
        rows = await self._database.fetch(Line.REQUEST, "read_durations", repeat=True, within=stretch.tenant, **which)
        return [
            DurationCount(name=name, measure=Measure(measure), duration=duration, count=count)
            for name, measure, duration, count in rows
        ]

    async def total_stats(self) -> list[Figure]:
        """Return what happened since the beginning, by queue and name, of all tenants together."""
        return [figure(row) for row in await self._database.fetch(Line.REQUEST, "total_stats", repeat=True)]

    async def sample_depth(self, *, apart_ms: int) -> bool:
        """Note how many tasks of each lane are due and wait to be run, unless that was done in the last `apart_ms`."""
        due = await self._database.fetch(
            Line.REQUEST, "depth_due", repeat=True, step=STEPS[0], apart=apart_ms, now=self._now()
        )
        if not due:
            return False
        ((now,),) = due
        waiting = await self._database.fetch(Line.BROAD, "count_waiting", repeat=True, now=now)
        samples = [(step, lane, count) for step in STEPS for lane, count in [(0, 1), *waiting]]
        await self._database.fetch(
            Line.BROAD,
            "add_depth",
            repeat=True,
            steps=[step for step, _, _ in samples],
            times=[now - now % step for step, _, _ in samples],
            lanes=[lane for _, lane, _ in samples],
            counts=[count for _, _, count in samples],
            now=now,
        )
        return True

    async def read_depth(self, stretch: StatsRange) -> list[Level]:
        """Return how many tasks waited, of each bucket in which samples were taken."""
        rows = await self._database.fetch(
            Line.REQUEST, "read_depth", repeat=True, within=stretch.tenant, **structs.asdict(stretch)
        )
        return [Level(at=Instant(at), total=total, samples=samples) for at, total, samples in rows]

    async def oldest_due(self, *, tenant: str | None, queue: str | None, name: str | None) -> Instant | None:
        """Return when the task was due that has been due and waiting for longest."""
        ((due_at,),) = await self._database.fetch(
            Line.REQUEST,
            "oldest_due",
            repeat=True,
            within=tenant,
            tenant=tenant,
            queue=queue,
            name=name,
            now=self._now(),
        )
        return None if due_at is None else Instant(due_at)

    async def oldest_fire(self, *, tenant: str | None, schedule: str | None, since: Instant) -> Instant | None:
        """Return when the fire of a schedule was due that has been due for longest and has not begun."""
        ((at,),) = await self._database.fetch(
            Line.REQUEST,
            "oldest_fire",
            repeat=True,
            within=tenant,
            tenant=tenant,
            schedule=schedule,
            since=since,
            now=self._now(),
        )
        return None if at is None else Instant(at)

    async def prune_stats(self, *, step: int, before: Instant) -> int:
        """Delete the figures of one width from before a time; return how many."""

        async def prune(transaction: Transaction) -> int:
            stats = await transaction.fetch("prune_stats", step=step, before=before)
            return len(stats) + len(await transaction.fetch("prune_depth", step=step, before=before))

        return await self._database.transact(Line.BROAD, prune, repeat=True)


def figure(row: Iterable[Any]) -> Figure:
    """Return a row as a figure."""
    queue, name, measure, duration, count, total_ms = row
    return Figure(queue=queue, name=name, measure=Measure(measure), duration=duration, count=count, total_ms=total_ms)
