"""The log of what changed. Positions are given after the commit; see sequence.sql and docs/adr/0017-events.md."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from drumline.core.clock import Clock, Instant
from drumline.core.event import Event, EventPosition
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import Lane
from drumline.ports.outbox import EventPage
from drumline.stores.driver import Line
from drumline.stores.events import FAILED, LOG_CHUNKS, Known, Now, Past, Told, fact_events, last_lines, task_event
from drumline.stores.parts.consumers import Consumers
from drumline.stores.postgres.acts import ACT_OF
from drumline.stores.postgres.connection import Record, Rows
from drumline.stores.postgres.database import Database
from drumline.stores.postgres.lanes import Lanes

ROWS_AT_ONCE: Final = 256
FIRST_KNOWN: Final = 7
FIRST_PAST: Final = 11
FIRST_NOW: Final = 16
"""The columns of read_acts.sql with which begins what is known of the task, of the execution, of where it stands."""
STATES: Final = tuple(State)


class Outbox(Consumers):
    """The part of `ports.outbox.EventLog` that reads the log, on PostgreSQL."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes) -> None:
        super().__init__(database, clock, lanes)
        self._log_name: str | None = None

    async def sequence(self, *, limit: int = 5000) -> int:
        """Give positions to at most `limit` committed rows that have none; return how many there were."""
        ((count,),) = await self._database.fetch(Line.EVENTS, "sequence", repeat=True, limit=limit)
        return int(count)

    async def read_events(self, *, after: int, limit: int) -> EventPage:
        """Return the events of the rows behind a position, whole rows only, until there are `limit` events or more."""
        log = await self._log()
        rows = await self._database.fetch(Line.EVENTS, "read_outbox", repeat=True, after=after, limit=ROWS_AT_ONCE)
        taken, size = 0, 0
        for _, _, count, facts in rows:
            taken, size = taken + 1, size + count + (facts is not None)
            if size >= limit:
                break
        if not taken:
            return EventPage((), after, is_full=False)
        until = rows[taken - 1][0]
        events = await self._task_events(log, after, until) if any(count for _, _, count, _ in rows[:taken]) else []
        told = [
            event
            for position, at, _, facts in rows[:taken]
            if facts is not None
            for event in fact_events(log, position, at, facts)
        ]
        if told:
            events = sorted(events + told, key=lambda event: event.place)
        return EventPage(tuple(events), until, is_full=taken < len(rows) or len(rows) == ROWS_AT_ONCE)

    async def prune_events(self, *, written_before: Instant, most: int, limit: int) -> int:
        """Drop rows that every consumer has passed on: those written before a time, and all but the last `most`."""
        ((count,),) = await self._database.fetch(
            Line.BROAD, "prune_events", before=written_before, most=most, limit=limit
        )
        return int(count)

    async def _log(self) -> str:
        """Return the name of the log, asked for once."""
        self._log_name = self._log_name or (await self.log_span()).name
        return self._log_name

    async def _task_events(self, log: str, after: int, until: int) -> list[Event]:
        rows = await self._database.fetch(Line.EVENTS, "read_acts", repeat=True, after=after, until=until)
        return await self._events_of(log, rows)

    async def _events_of(self, log: str, rows: Rows, *, logged: frozenset[Act] = FAILED) -> list[Event]:
        """Return acts as events, those in `logged` with the last lines of the log; rows as those of read_acts.sql."""
        lanes = await self._lanes.lanes({row["lane"] for row in rows if row["lane"] is not None})
        told = [_told(row) for row in rows]
        lines = await self._last_lines([(each.task, each.epoch) for each in told if each.act in logged])
        return [
            task_event(
                log,
                each,
                None if row["lane"] is None else _known(row, lanes[row["lane"]]),
                lines.get((each.task, each.epoch)) if each.act in logged else None,
            )
            for row, each in zip(rows, told, strict=True)
        ]

    async def _last_lines(self, executions: Sequence[tuple[TaskId, int]]) -> dict[tuple[TaskId, int], str | None]:
        """Return the ends of the logs of executions, by task and epoch; those that logged nothing are left out."""
        if not executions:
            return {}
        rows = await self._database.fetch(
            Line.EVENTS,
            "last_chunks",
            repeat=True,
            tasks=[task for task, _ in executions],
            epochs=[epoch for _, epoch in executions],
            limit=LOG_CHUNKS,
        )
        chunks: dict[int, list[str]] = defaultdict(list)
        for place, text in rows:
            chunks[place - 1].append(text)
        return {executions[place]: last_lines("".join(reversed(texts))) for place, texts in chunks.items()}


def _told(row: Record) -> Told:
    position, place, at, task, act, state, epoch = row[:FIRST_KNOWN]
    return Told(EventPosition(position, place), at, task, ACT_OF[act], STATES[state], epoch)


def _known(row: Record, lane: Lane) -> Known:
    options, created_at, asked_due_at = row[FIRST_KNOWN + 1 : FIRST_PAST]
    past, now = row[FIRST_PAST:FIRST_NOW], row[FIRST_NOW:]
    return Known(
        lane,
        options,
        created_at,
        asked_due_at,
        None if past[0] is None else Past._make(past),
        None if now[0] is None else Now._make(now),
    )
