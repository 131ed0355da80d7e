"""Figures over time, counted from the log of what changed."""

from typing import Final

from msgspec import structs

from drumline.core.clock import Instant
from drumline.core.state import Act
from drumline.core.stats import BOUNDS, STEPS, TOTAL, Figure, Gathered, Level, Measure, Stat, Stretch
from drumline.stores.driver import Line
from drumline.stores.postgres.access import Access
from drumline.stores.postgres.acts import NUMBER_OF, SUBMIT
from drumline.stores.postgres.connection import Record
from drumline.stores.postgres.database import Transaction

CONSUMER: Final = "stats"
COUNTED: Final = {
    SUBMIT: Measure.SUBMITTED,
    NUMBER_OF[Act.COMPLETE]: Measure.COMPLETED,
    NUMBER_OF[Act.FAIL]: Measure.FAILED,
    NUMBER_OF[Act.BACK_OFF]: Measure.RETRIED,
    NUMBER_OF[Act.STOP]: Measure.CANCELLED,
    NUMBER_OF[Act.CANCEL]: Measure.CANCELLED,
    NUMBER_OF[Act.FORCE_CANCEL]: Measure.CANCELLED,
    NUMBER_OF[Act.SKIP]: Measure.SKIPPED,
}


class Stats(Access):
    """`ports.stats.Stats` on PostgreSQL."""

    async def gather_stats(self, *, limit: int) -> Gathered:
        """Count what the next rows of the log say, up to `limit` rows, and return what that was."""

        async def count(transaction: Transaction) -> Gathered:
            # Taking the cursor locks its row: whoever counts meanwhile waits here, and goes on from where we end.
            ((after,),) = await transaction.fetch("take_cursor", consumer=CONSUMER, holder=0, ms=0, now=self._now())
            ((until, found),) = await transaction.fetch("stats_span", after=after, limit=limit)
            if not found:
                return Gathered(0)
            rows = await transaction.fetch(
                "gather_stats",
                after=after,
                until=until,
                submit=SUBMIT,
                acts=list(COUNTED),
                measures=[int(measure) for measure in COUNTED.values()],
                wait_measure=int(Measure.WAIT),
                run_measure=int(Measure.RUN),
                bounds=[float(bound) for bound in BOUNDS],
                steps=[*STEPS, TOTAL],
            )
            await transaction.fetch("stats_until", consumer=CONSUMER, until=until, now=self._now())
            return Gathered(int(found), tuple(_figure(row) for row in rows))

        return await self._database.transact(Line.EVENTS, count, repeat=True)

    async def read_stats(self, stretch: Stretch) -> list[Stat]:
        """Return the figures of a stretch of time, summed over the lanes that it narrows to."""
        rows = await self._database.fetch(
            Line.DESK, "read_stats", repeat=True, within=stretch.tenant, **structs.asdict(stretch)
        )
        return [
            Stat(at=Instant(at), measure=Measure(measure), duration=duration, count=count)
            for at, measure, duration, count in rows
        ]

    async def total_stats(self) -> list[Figure]:
        """Return what happened since the beginning, by queue and name, of all tenants together."""
        return [_figure(row) for row in await self._database.fetch(Line.DESK, "total_stats", repeat=True)]

    async def sample_depth(self, *, apart_ms: int) -> bool:
        """Note how many tasks of each lane are due and wait to be run, unless somebody has in the last `apart_ms`."""
        rows = await self._database.fetch(
            Line.BROAD, "sample_depth", repeat=True, steps=list(STEPS), apart=apart_ms, now=self._now()
        )
        return bool(rows)

    async def read_depth(self, stretch: Stretch) -> list[Level]:
        """Return how many tasks waited, of each bucket in which samples were taken; 0 is told like any other level."""
        rows = await self._database.fetch(
            Line.DESK, "read_depth", repeat=True, within=stretch.tenant, **structs.asdict(stretch)
        )
        return [Level(at=Instant(at), total=total, samples=samples) for at, total, samples in rows]

    async def prune_stats(self, *, step: int, before: Instant) -> int:
        """Delete the figures of one width from before a time; return how many."""
        ((count,),) = await self._database.fetch(Line.BROAD, "prune_stats", repeat=True, step=step, before=before)
        return int(count)


def _figure(row: Record) -> Figure:
    queue, name, measure, duration, count, total_ms = row
    return Figure(queue=queue, name=name, measure=Measure(measure), duration=duration, count=count, total_ms=total_ms)
