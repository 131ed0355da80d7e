"""Figures over time, counted from the log of what changed."""

import sqlite3
from bisect import bisect_right
from collections import Counter
from typing import Final

from drumline.backends.sqlite.access import Access, batch_of, rows_of
from drumline.backends.sqlite.statements import SQL
from drumline.backends.sqlite.submitting import SUBMITTED
from drumline.core.clock import Instant
from drumline.core.state import Act
from drumline.core.stats import BOUNDS, STEPS, Measure, Stat

CONSUMER: Final = "stats"
COUNTED: Final = {
    SUBMITTED: Measure.SUBMITTED,
    Act.COMPLETE.value: Measure.COMPLETED,
    Act.FAIL.value: Measure.FAILED,
    Act.BACK_OFF.value: Measure.RETRIED,
    Act.STOP.value: Measure.CANCELLED,
    Act.CANCEL.value: Measure.CANCELLED,
    Act.FORCE_CANCEL.value: Measure.CANCELLED,
    Act.SKIP.value: Measure.SKIPPED,
}
Counts = Counter[tuple[int, int, int, int, int]]
"""How often: step, bucket of time, lane, measure, class of duration."""


class Stats(Access):
    """`ports.stats.Stats` on SQLite. Counting is done beside the writer, which only adds the sums."""

    async def gather_stats(self, *, limit: int) -> int:
        """Count what the next rows of the log say, up to `limit` rows, and return how many rows there were."""
        wish = {"consumer": CONSUMER, "holder": 0, "ms": 0, "now": self._now()}
        (after,) = await self._database.write(
            lambda connection: connection.execute(SQL["take_cursor"], wish).fetchone()
        )
        until, found, counts = await self._database.read(lambda connection: _counted(connection, after, limit))
        if found:
            await self._database.write(lambda connection: self._add(connection, after, until, counts))
        return found

    def _add(self, connection: sqlite3.Connection, after: int, until: int, counts: Counts) -> None:
        moved = {"consumer": CONSUMER, "after": after, "until": until, "now": self._now()}
        if connection.execute(SQL["stats_until"], moved).rowcount and counts:
            batch = batch_of([(*place, count) for place, count in counts.items()])
            connection.execute(SQL["add_stats"], {"batch": batch})

    async def read_stats(
        self,
        *,
        since: Instant,
        until: Instant,
        step: int,
        tenant: str | None = None,
        queue: str | None = None,
        name: str | None = None,
    ) -> list[Stat]:
        """Return the figures of a stretch of time in one of the widths `core.stats.STEPS`."""
        which = {"since": since, "until": until, "step": step, "tenant": tenant, "queue": queue, "name": name}
        rows = await self._database.read(lambda connection: connection.execute(SQL["read_stats"], which).fetchall())
        return [
            Stat(at=Instant(at), measure=Measure(measure), duration=duration, count=count)
            for at, measure, duration, count in rows
        ]

    async def prune_stats(self, *, step: int, before: Instant) -> int:
        """Delete the figures of one width from before a time; return how many."""
        return await self._change("prune_stats", {"step": step, "before": before})


def _counted(connection: sqlite3.Connection, after: int, limit: int) -> tuple[int, int, Counts]:
    until, found = connection.execute(SQL["stats_span"], {"after": after, "limit": limit}).fetchone()
    counts: Counts = Counter()
    if not found:
        return after, 0, counts
    which = {"after": after, "until": until, "acts": batch_of(list(COUNTED))}
    for at, act, lane, due_at, attempt, started_at, finished_at in rows_of(connection, "stat_acts", which):
        _count(counts, at, lane, COUNTED[act], 0)
        if started_at and finished_at is not None:
            _count(counts, at, lane, Measure.RUN, bisect_right(BOUNDS, finished_at - started_at))
            if attempt == 1:
                _count(counts, at, lane, Measure.WAIT, bisect_right(BOUNDS, max(0, started_at - due_at)))
    return until, found, counts


def _count(counts: Counts, at: int, lane: int, measure: Measure, duration: int) -> None:
    for step in STEPS:
        counts[step, at - at % step, lane, int(measure), duration] += 1
