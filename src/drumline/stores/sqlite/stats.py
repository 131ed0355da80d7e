"""Figures over time, counted from the log of what changed."""

import sqlite3
from bisect import bisect_right
from collections import Counter
from typing import Final, NamedTuple

from msgspec import structs

from drumline.core.clock import Instant
from drumline.core.state import Act
from drumline.core.stats import BOUNDS, STEPS, TOTAL, Figure, Gathered, Level, Measure, Stat, Stretch
from drumline.stores.sqlite.access import Access, batch_of, rows_of
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


class Stats(Access):
    """`ports.stats.Stats` on SQLite. Counting is done beside the writer, which only adds the sums."""

    async def gather_stats(self, *, limit: int) -> Gathered:
        """Count what the next rows of the log say, up to `limit` rows, and return what that was."""
        wish = {"consumer": CONSUMER, "holder": 0, "ms": 0, "now": self._now()}
        (after,) = await self._database.write(
            lambda connection: connection.execute(SQL["take_cursor"], wish).fetchone()
        )
        until, found, counts = await self._database.read(lambda connection: _counted(connection, after, limit))
        if not found:
            return Gathered(0)
        return Gathered(
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

    async def read_stats(self, stretch: Stretch) -> list[Stat]:
        """Return the figures of a stretch of time, summed over the lanes that it narrows to."""
        which = structs.asdict(stretch)
        rows = await self._database.read(lambda connection: connection.execute(SQL["read_stats"], which).fetchall())
        return [
            Stat(at=Instant(at), measure=Measure(measure), duration=duration, count=count)
            for at, measure, duration, count in rows
        ]

    async def total_stats(self) -> list[Figure]:
        """Return what happened since the beginning, by queue and name, of all tenants together."""
        rows = await self._database.read(lambda connection: connection.execute(SQL["total_stats"]).fetchall())
        return [
            Figure(queue=queue, name=name, measure=Measure(measure), duration=duration, count=count, total_ms=total_ms)
            for queue, name, measure, duration, count, total_ms in rows
        ]

    async def sample_depth(self, *, apart_ms: int) -> bool:
        """Note how many tasks of each lane are due and wait to be run, unless somebody has in the last `apart_ms`."""
        now = self._now()
        waiting = await self._database.read(lambda connection: _waiting(connection, now, apart_ms))
        if waiting is None:
            return False
        batch = batch_of(
            [(step, now - now % step, lane, count) for step in STEPS for lane, count in [(0, 1), *waiting]]
        )
        await self._change("add_depth", {"batch": batch, "now": now})
        return True

    async def read_depth(self, stretch: Stretch) -> list[Level]:
        """Return how many tasks waited, of each bucket in which samples were taken; 0 is told like any other level."""
        which = structs.asdict(stretch)
        rows = await self._database.read(lambda connection: connection.execute(SQL["read_depth"], which).fetchall())
        return [Level(at=Instant(at), total=total, samples=samples) for at, total, samples in rows]

    async def prune_stats(self, *, step: int, before: Instant) -> int:
        """Delete the figures of one width from before a time; return how many."""
        which = {"step": step, "before": before}
        return await self._database.write(
            lambda connection: (
                connection.execute(SQL["prune_stats"], which).rowcount
                + connection.execute(SQL["prune_depth"], which).rowcount
            )
        )


def _waiting(connection: sqlite3.Connection, now: int, apart_ms: int) -> list[tuple[int, int]] | None:
    """Return how many tasks wait in lanes; None if somebody has just looked."""
    recent = {"now": now, "apart": apart_ms, "step": STEPS[0]}
    (is_sampled,) = connection.execute(SQL["depth_sampled"], recent).fetchone()
    return None if is_sampled else [(lane, count) for lane, count in rows_of(connection, "count_waiting", {"now": now})]


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
