"""Reading the event log for the notifier: the events that somebody wants to be told of."""

import sqlite3
from collections.abc import Sequence

from drumline.core.event import Event
from drumline.core.ids import JobId
from drumline.core.state import TERMINAL, State
from drumline.ports.notifications import EndedTask, Interest, Picked, Span
from drumline.stores.events import LOGGED_IN_NOTIFICATIONS, fact_events
from drumline.stores.notification_rows import broad_and_narrow, ended_task
from drumline.stores.sqlite.access import batch_of
from drumline.stores.sqlite.outbox import Outbox, Row, events_of, log_end, told_in
from drumline.stores.sqlite.statements import SQL


class EventLog(Outbox):
    """`ports.outbox.EventLog` on SQLite."""

    async def pick_events(self, span: Span, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
        """Look through a stretch of the log."""
        return await self._database.read(lambda connection: _pick(connection, span, interests, has_targets=has_targets))

    async def ends_in_jobs(self, jobs: Sequence[JobId], outcome: State, *, limit: int) -> list[list[EndedTask]]:
        """Return up to `limit` tasks of each job that ended so."""
        wish = {"outcome": int(outcome), "newest": outcome is State.COMPLETED, "limit": limit}

        def look(connection: sqlite3.Connection) -> list[list[EndedTask]]:
            return [
                [
                    ended_task(key, task, name, error, log_end(connection, task, epoch))
                    for key, task, name, epoch, error in connection.execute(SQL["ends_in_job"], {**wish, "job": job})
                ]
                for job in jobs
            ]

        return await self._database.read(look)


def _pick(connection: sqlite3.Connection, span: Span, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
    log, _, _ = connection.execute(SQL["log_span"]).fetchone()
    broad, narrow = broad_and_narrow(interests)
    wanted = broad.union(*(interest.states for interest in narrow))
    looked = TERMINAL if has_targets else wanted
    wish = {"after": span.after, "until": span.until, "limit": span.limit, "looks": bool(looked)}
    rows = [Row(*row) for row in connection.execute(SQL["pick_rows"], wish)]
    ends = [told for row in rows for told in told_in(row, states=looked)]
    of_interest = _in_lanes(connection, [told.task for told in ends if told.state in wanted - broad], narrow)
    if has_targets:
        of_interest |= _with_targets(connection, [told.task for told in ends if told.state not in broad])
    picked = [told for told in ends if told.state in broad or told.task in of_interest]
    events: list[Event] = list(events_of(connection, log, picked, logged=LOGGED_IN_NOTIFICATIONS))
    for row in rows:
        if row.facts is not None:
            events += fact_events(log, row.position, row.at, row.facts)
    events.sort(key=lambda event: event.place)
    return Picked(tuple(events), rows[-1].position if rows else span.after, is_full=len(rows) == span.limit)


def _in_lanes(connection: sqlite3.Connection, tasks: Sequence[str], narrow: Sequence[Interest]) -> frozenset[str]:
    """Return those of some tasks that are in a lane of interest."""
    lanes = [(interest.tenant, interest.queue, interest.task) for interest in narrow]
    wish = {"ids": batch_of(tasks), "lanes": batch_of(lanes)}
    rows = connection.execute(SQL["in_lanes"], wish) if tasks else ()
    return frozenset(task for (task,) in rows)


def _with_targets(connection: sqlite3.Connection, tasks: Sequence[str]) -> frozenset[str]:
    """Return those of some tasks that name targets themselves."""
    rows = connection.execute(SQL["with_targets"], {"ids": batch_of(tasks)}) if tasks else ()
    return frozenset(task for (task,) in rows)
