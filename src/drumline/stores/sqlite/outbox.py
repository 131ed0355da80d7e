"""The log of what changed. One writer commits at a time, so that the rows' own numbers are their positions."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from drumline.core.clock import Instant
from drumline.core.event import Event, EventPosition
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import Lane
from drumline.ports.outbox import EventPage
from drumline.stores.driver import Line
from drumline.stores.events import FAILED, LOG_CHUNKS, Known, Now, Past, Told, fact_events, last_lines, task_event
from drumline.stores.parts.consumers import Consumers
from drumline.stores.sqlite.access import batch_of, rows_of
from drumline.stores.sqlite.database import Database
from drumline.stores.sqlite.statements import SQL
from drumline.stores.sqlite.submitting import SUBMITTED

ROWS_AT_ONCE: Final = 256
ACTS_AT_ONCE: Final = 500
"""Acts that are looked up in one statement: each may bring an error of many kilobytes."""
EVERY_STATE: Final = frozenset(State)


class Row(NamedTuple):
    """A row of the outbox; the order is that of read_outbox.sql."""

    position: int
    at: Instant
    acts: str
    facts: str | None


class Outbox(Consumers):
    """The part of `ports.outbox.EventLog` that reads the log, on SQLite."""

    _database: Database

    async def sequence(self, *, limit: int = 5000) -> int:  # noqa: ARG002 - the promise of the port
        """Have nothing to give: every row has its position."""
        return 0

    async def read_events(self, *, after: int, limit: int) -> EventPage:
        """Return the events of the rows behind a position, whole rows only, until there are `limit` events or more."""
        return await self._database.read(lambda connection: _read(connection, after, limit))

    async def prune_events(self, *, written_before: Instant, most: int, limit: int) -> int:
        """Drop rows that every consumer has passed on: those written before a time, and all but the last `most`."""
        rows = await self._database.fetch(Line.BROAD, "prune_events", before=written_before, most=most, limit=limit)
        return len(rows)


def _read(connection: sqlite3.Connection, after: int, limit: int) -> EventPage:
    log, _, _ = connection.execute(SQL["log_span"]).fetchone()
    events: list[Event] = []
    rows = connection.execute(SQL["read_outbox"], {"after": after, "limit": ROWS_AT_ONCE}).fetchall()
    position = after
    for row in map(Row._make, rows):
        events += events_of(connection, log, told_in(row))
        if row.facts is not None:
            events += fact_events(log, row.position, row.at, row.facts)
        position = row.position
        if len(events) >= limit:
            break
    return EventPage(tuple(events), position, is_full=len(events) >= limit or len(rows) == ROWS_AT_ONCE)


def told_in(row: Row, *, states: frozenset[State] = EVERY_STATE) -> list[Told]:
    """Return the acts on tasks in a row: those that led to one of some states."""
    acts: list[tuple[str, str, int, int]] = msgspec.json.decode(row.acts)
    return [
        Told(
            place=EventPosition(row.position, place),
            at=row.at,
            task=TaskId(task),
            act=None if act == SUBMITTED else Act(act),
            state=State(state),
            epoch=epoch,
        )
        for place, (task, act, state, epoch) in enumerate(acts)
        if state in states
    ]


def events_of(
    connection: sqlite3.Connection, log: str, acts: Sequence[Told], *, logged: frozenset[Act] = FAILED
) -> Iterator[Event]:
    """Yield acts on tasks as events, those in `logged` with the last lines of the log."""
    for start in range(0, len(acts), ACTS_AT_ONCE):
        part = acts[start : start + ACTS_AT_ONCE]
        batch = batch_of([(told.task, told.act, int(told.state), told.epoch) for told in part])
        known = {place: _known(details) for place, *details in rows_of(connection, "known_tasks", {"batch": batch})}
        for place, told in enumerate(part):
            lines = log_end(connection, told.task, told.epoch) if told.act in logged else None
            yield task_event(log, told, known.get(place), lines)


def _known(details: list[Any]) -> Known:
    return Known(
        lane=Lane(*details[:4]),
        options=details[4],
        created_at=details[5],
        asked_due_at=details[6],
        past=None if details[7] is None else Past(*details[7:12]),
        now=None if details[12] is None else Now(*details[12:]),
    )


def log_end(connection: sqlite3.Connection, task: str, epoch: int) -> str | None:
    """Return the last lines that an execution logged."""
    which = {"id": task, "epoch": epoch, "limit": LOG_CHUNKS}
    chunks = connection.execute(SQL["last_chunks"], which).fetchall()
    return last_lines("".join(text for (text,) in reversed(chunks)))
