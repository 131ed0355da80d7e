"""Counting figures over time from the log of events, in Python."""

import sqlite3
from bisect import bisect_right
from collections import Counter
from typing import Final, NamedTuple

from drumline.core.state import Act
from drumline.core.stats import BOUNDS, STEPS, TOTAL, CountedEvents, Figure, Measure
from drumline.stores.parts.stats import StatsTables
from drumline.stores.sqlite.batches import batch_of, rows_of
from drumline.stores.sqlite.database import Database
from drumline.stores.sqlite.lanes import Lanes
from drumline.stores.sqlite.statements import SQL
from drumline.stores.sqlite.submitting import SUBMITTED

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


class Counts(NamedTuple):
    """What the log told."""

    often: Counter[tuple[int, int, int, int, int]]
    """How often: step, bucket of time, lane, measure, class of duration."""
    total_ms: Counter[tuple[int, int, int]]
    """How long in all: lane, measure, class of duration."""


class Stats(StatsTables):
    """`ports.stats.Stats` on SQLite. Counting is done beside the writer, which only adds the sums."""

    _database: Database
    _lanes: Lanes

    async def gather_stats(self, *, limit: int) -> CountedEvents:
        """Count what the next rows of the log say, up to `limit` rows, and return what that was."""
        wish = {"consumer": CONSUMER, "holder": 0, "ms": 0, "now": self._now()}
        (after,) = await self._database.write(
            lambda connection: connection.execute(SQL["take_cursor"], wish).fetchone()
        )
        until, found, counts = await self._database.read(lambda connection: _counted(connection, after, limit))
        if not found:
            return CountedEvents(0)
        return CountedEvents(
            found, await self._database.write(lambda connection: self._add(connection, after, until, counts))
        )

    def _add(self, connection: sqlite3.Connection, after: int, until: int, counts: Counts) -> tuple[Figure, ...]:
        moved = {"consumer": CONSUMER, "after": after, "until": until, "now": self._now()}
        if not connection.execute(SQL["stats_until"], moved).rowcount or not counts.often:
            return ()  # nothing was told, or somebody else has counted it
        batch = batch_of(
            [
                (*place, count, counts.total_ms[place[2:]] if place[0] == TOTAL else 0)
                for place, count in counts.often.items()
            ]
        )
        connection.execute(SQL["add_stats"], {"batch": batch})
        often: Counter[tuple[int, int, int]] = Counter()
        for (step, _, *place), count in counts.often.items():
            if step == STEPS[0]:
                often[place[0], place[1], place[2]] += count
        lanes = self._lanes.lanes_in(connection, {lane for lane, _, _ in often})
        return tuple(
            Figure(
                queue=lanes[place[0]].queue,
                name=lanes[place[0]].name,
                measure=Measure(place[1]),
                duration=place[2],
                count=count,
                total_ms=counts.total_ms[place],
            )
            for place, count in often.items()
        )


def _counted(connection: sqlite3.Connection, after: int, limit: int) -> tuple[int, int, Counts]:
    until, found = connection.execute(SQL["stats_span"], {"after": after, "limit": limit}).fetchone()
    counts = Counts(Counter(), Counter())
    if not found:
        return after, 0, counts
    which = {"after": after, "until": until, "acts": batch_of(list(COUNTED))}
    for at, act, lane, due_at, attempt, started_at, finished_at in rows_of(connection, "stat_acts", which):
        _count(counts, at, (lane, int(COUNTED[act]), 0))
        if started_at and finished_at is not None:
            _count_duration(counts, at, (lane, Measure.RUN), finished_at - started_at)
            if attempt == 1:
                _count_duration(counts, at, (lane, Measure.WAIT), max(0, started_at - due_at))
    return until, found, counts


def _count_duration(counts: Counts, at: int, what: tuple[int, Measure], ms: int) -> None:
    place = (what[0], int(what[1]), bisect_right(BOUNDS, ms))
    _count(counts, at, place)
    counts.total_ms[place] += ms


def _count(counts: Counts, at: int, place: tuple[int, int, int]) -> None:
    for step in STEPS:
        counts.often[step, at - at % step, *place] += 1
    counts.often[TOTAL, 0, *place] += 1
