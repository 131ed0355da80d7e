"""Counting figures over time from the log of events, inside the database."""

from typing import Final

from drumline.core.state import Act
from drumline.core.stats import BOUNDS, STEPS, TOTAL, CountedEvents, Measure
from drumline.stores.driver import Line, Transaction
from drumline.stores.parts.stats import StatsTables, figure
from drumline.stores.postgres.acts import NUMBER_OF, SUBMIT

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


class Stats(StatsTables):
    """`ports.stats.Stats` on PostgreSQL."""

    async def gather_stats(self, *, limit: int) -> CountedEvents:
        """Count what the next rows of the log say, up to `limit` rows, and return what that was."""

        async def count(transaction: Transaction) -> CountedEvents:
            # Taking the cursor locks its row: whoever counts meanwhile waits here, and goes on from where we end.
            ((after,),) = await transaction.fetch("take_cursor", consumer=CONSUMER, holder=0, ms=0, now=self._now())
            ((until, found),) = await transaction.fetch("stats_span", after=after, limit=limit)
            if not found:
                return CountedEvents(0)
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
            return CountedEvents(int(found), tuple(figure(row) for row in rows))

        return await self._database.transact(Line.EVENTS, count, repeat=True)
