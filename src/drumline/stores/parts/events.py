"""The log of events: reading it, and how far each consumer has read it. See docs/adr/0017-events.md."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from drumline.core.clock import Clock, Instant
from drumline.core.event import TASK_FAILED, Event, EventPosition
from drumline.core.ids import JobId, TaskId
from drumline.core.state import TERMINAL, Act, State
from drumline.core.task import Lane
from drumline.ports.notifications import EndedTask, Interest, Picked, PickRange
from drumline.ports.outbox import CursorView, EventPage, LogSpan, WrittenPage
from drumline.stores.driver import Database, Lanes, Line, Part, Rows
from drumline.stores.event_writing import EventWriter
from drumline.stores.events import (
    FAILED,
    LOG_CHUNKS,
    LOGGED_IN_NOTIFICATIONS,
    EndedExecution,
    KnownTask,
    LiveTask,
    RecordedAct,
    fact_events,
    last_lines,
    task_event,
)
from drumline.stores.notification_rows import broad_and_narrow, ended_task

ROWS_AT_ONCE: Final = (16, 240)
"""Rows of the outbox that are read: a few, since a row may have hundreds of events; more if those have too few."""
FIRST_KNOWN: Final = 7
FIRST_PAST: Final = 11
FIRST_NOW: Final = 16
"""The columns of read_acts with which begins what is known of the task, of the execution, of where it stands."""
STATES: Final = tuple(State)


class EventLog(Part):
    """`ports.outbox.EventLog`."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes, acts: Mapping[Any, Act | None]) -> None:
        super().__init__(database, clock, lanes)
        self._acts = acts
        """The acts behind what the outbox of this store keeps; None is the submission of a task."""
        self._log_name: str | None = None
        self._writers: dict[tuple[str, str], EventWriter] = {}
        """By log and source: what they have written before has the name of its log."""

    async def sequence(self, *, limit: int = 5000) -> int:
        """Give positions to at most `limit` committed rows that have none; return how many there were."""
        ((count,),) = await self._database.fetch(Line.EVENTS, "sequence", repeat=True, limit=limit)
        return int(count)

    async def read_events(self, *, after: int, limit: int) -> EventPage:
        """Return the events of the rows behind a position, whole rows only, until there are `limit` events or more."""
        log = await self._log()
        rows, is_full = await self._outbox_rows(after, limit)
        if not rows:
            return EventPage((), after, is_full=False)
        acts = await self._acts_between(after, rows)
        events = sorted(await self._events_of(log, acts) + _facts_of(log, rows), key=_place)
        return EventPage(tuple(events), rows[-1][0], is_full=is_full)

    async def read_written(self, *, after: int, limit: int, source: str) -> WrittenPage:
        """Return what `read_events` returns, written as it is published by `source`."""
        log = await self._log()
        rows, is_full = await self._outbox_rows(after, limit)
        if not rows:
            return WrittenPage((), (), (), after, is_full=False)
        if (writer := self._writers.get((log, source))) is None:
            writer = self._writers[log, source] = EventWriter(source, self._acts)
        acts = sorted(await self._acts_between(after, rows), key=itemgetter(0, 1))
        values, failed = await self._written(log, acts, writer)
        subjects = [row[3] for row in acts]
        if facts := _facts_of(log, rows):
            places = [*((row[0], row[1]) for row in acts), *(event.place for event in facts)]
            subjects += [event.subject for event in facts]
            values += map(writer.write_usually, facts)
            order = sorted(range(len(places)), key=places.__getitem__)
            subjects, values = [subjects[index] for index in order], [values[index] for index in order]
        return WrittenPage(subjects, values, failed, rows[-1][0], is_full=is_full)

    async def prune_events(self, *, written_before: Instant, most: int, limit: int) -> int:
        """Drop rows that every consumer has passed on: those written before a time, and all but the last `most`."""
        return len(
            await self._database.fetch(Line.BROAD, "prune_events", before=written_before, most=most, limit=limit)
        )

    async def pick_events(self, span: PickRange, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
        """Look through a stretch of the log."""
        log = await self._log()
        broad, narrow = broad_and_narrow(interests)
        wanted = broad.union(*(interest.states for interest in narrow))
        looked = sorted(map(int, TERMINAL if has_targets else wanted))
        rows = await self._database.fetch(
            Line.EVENTS, "pick_rows", repeat=True, after=span.after, until=span.until, limit=span.limit, states=looked
        )
        if not rows:
            return Picked((), span.after, is_full=False)
        events = _facts_of(log, rows)
        positions = [position for position, _, has_ends, _ in rows if has_ends]
        if positions:
            acts = await self._database.fetch(
                Line.EVENTS,
                "pick_acts",
                repeat=True,
                positions=positions,
                looked=looked,
                broad=sorted(map(int, broad)),
                narrow=sorted(map(int, wanted - broad)),
                lanes=await self._lanes_of_interest(narrow),
            )
            ends = await self._events_of(log, acts, logged=LOGGED_IN_NOTIFICATIONS)
            events = sorted(events + ends, key=_place)
        return Picked(tuple(events), rows[-1][0], is_full=len(rows) == span.limit)

    async def ends_in_jobs(self, jobs: Sequence[JobId], outcome: State, *, limit: int) -> list[list[EndedTask]]:
        """Return up to `limit` tasks of each job that ended so."""
        rows = await self._database.fetch(
            Line.EVENTS,
            "ends_in_jobs",
            repeat=True,
            jobs=sorted(set(jobs)),
            outcome=int(outcome),
            newest=outcome is State.COMPLETED,
            limit=limit,
        )
        lanes = await self._lanes.lanes({lane for _, _, _, lane, _, _ in rows})
        logs = await self._last_lines([(task, epoch) for _, _, task, _, epoch, _ in rows])
        found: dict[str, list[EndedTask]] = defaultdict(list)
        for job, key, task, lane, epoch, error in rows:
            found[str(job)].append(ended_task(key, task, lanes[lane].name, error, logs.get((task, epoch))))
        return [found[job] for job in jobs]

    async def log_span(self) -> LogSpan:
        """Return what the log holds."""
        ((name, dropped, last),) = await self._database.fetch(Line.EVENTS, "log_span", repeat=True)
        return LogSpan(name, dropped, last)

    async def rename_log(self) -> str:
        """Give the log another name, and return it."""
        ((name,),) = await self._database.fetch(Line.REQUEST, "rename_log")
        self._log_name = None
        return str(name)

    async def take_cursor(self, consumer: str, *, holder: int, seconds: float) -> int | None:
        """Take a consumer's cursor for so many seconds, or keep it; return its position."""
        rows = await self._database.fetch(
            Line.EVENTS,
            "take_cursor",
            repeat=True,
            consumer=consumer,
            holder=holder,
            ms=round(seconds * 1000),
            now=self._now(),
        )
        return int(rows[0][0]) if rows else None

    async def move_cursor(self, consumer: str, *, holder: int, old: int, new: int) -> bool:
        """Move a cursor that this holder has from `old` to `new`; return False if it is elsewhere."""
        # Not repeated when the answer was lost: a second try would find it moved and blame another holder.
        rows = await self._database.fetch(
            Line.EVENTS, "move_cursor", consumer=consumer, holder=holder, old=old, new=new, now=self._now()
        )
        return bool(rows)

    async def note_cursor(self, consumer: str, *, holder: int, error: str | None) -> None:
        """Note why a consumer cannot pass events on, or with None that it can; only its holder does so."""
        await self._database.fetch(
            Line.EVENTS, "note_cursor", repeat=True, consumer=consumer, holder=holder, error=error
        )

    async def leave_cursor(self, consumer: str, *, holder: int) -> None:
        """Let another holder have it at once."""
        await self._database.fetch(Line.EVENTS, "leave_cursor", repeat=True, consumer=consumer, holder=holder)

    async def forget_consumer(self, consumer: str) -> bool:
        """Drop a cursor, so that nothing is kept for it any more; tell whether there was one."""
        return bool(await self._database.fetch(Line.REQUEST, "forget_consumer", consumer=consumer))

    async def cursors(self) -> list[CursorView]:
        """Return the position of every consumer."""
        rows = await self._database.fetch(Line.REQUEST, "cursors", repeat=True)
        return [
            CursorView(
                consumer=consumer,
                position=position,
                moved_at=moved_at,
                behind=behind,
                oldest_at=oldest_at,
                error=error,
            )
            for consumer, position, moved_at, behind, oldest_at, error in rows
        ]

    async def _log(self) -> str:
        """Return the name of the log, asked for once."""
        self._log_name = self._log_name or (await self.log_span()).name
        return self._log_name

    async def _outbox_rows(self, after: int, limit: int) -> tuple[Rows, bool]:
        """Return the rows behind a position until they have `limit` events, and whether there may be more at once."""
        taken: Rows = []
        size = 0
        for most in ROWS_AT_ONCE:
            start = taken[-1][0] if taken else after
            rows = await self._database.fetch(Line.EVENTS, "read_outbox", repeat=True, after=start, limit=most)
            for row in rows:
                _, _, count, facts = row
                taken.append(row)
                size += count + (facts is not None)
                if size >= limit:
                    return taken, row is not rows[-1] or len(rows) == most
            if len(rows) < most:
                return taken, False
        return taken, True

    async def _acts_between(self, after: int, rows: Rows) -> Rows:
        """Return the acts in rows behind a position, with what is known of their tasks."""
        if not any(count for _, _, count, _ in rows):
            return []
        return await self._database.fetch(Line.EVENTS, "read_acts", repeat=True, after=after, until=rows[-1][0])

    async def _written(self, log: str, acts: Rows, writer: EventWriter) -> tuple[list[bytes], list[Event]]:
        """Return acts as events that are written out, and those of tasks that failed for good."""
        lanes = await self._lanes_in(acts)
        values = writer.write(acts, lambda row: task_event(log, self._told(row), _known(row, lanes)))
        others = await self._events_of(log, [row for row, value in zip(acts, values, strict=True) if value is None])
        following = map(writer.write_usually, others)
        told = [next(following) if value is None else value for value in values]
        return told, [event for event in others if event.type == TASK_FAILED]

    async def _lanes_in(self, acts: Rows) -> Mapping[int, Lane]:
        return await self._lanes.lanes({row[FIRST_KNOWN] for row in acts if row[FIRST_KNOWN] is not None})

    async def _events_of(self, log: str, rows: Rows, *, logged: frozenset[Act] = FAILED) -> list[Event]:
        """Return acts as events, those in `logged` with the last lines of the log; rows as those of read_acts."""
        lanes = await self._lanes_in(rows)
        told = [self._told(row) for row in rows]
        lines = await self._last_lines([(each.task, each.epoch) for each in told if each.act in logged])
        return [
            task_event(
                log, each, _known(row, lanes), lines.get((each.task, each.epoch)) if each.act in logged else None
            )
            for row, each in zip(rows, told, strict=True)
        ]

    async def _last_lines(self, executions: Sequence[tuple[TaskId, int]]) -> dict[tuple[TaskId, int], str | None]:
        """Return the ends of the logs of executions, by task and epoch; those that logged nothing are left out."""
        wanted = sorted(set(executions))
        if not wanted:
            return {}
        rows = await self._database.fetch(
            Line.EVENTS,
            "last_chunks",
            repeat=True,
            tasks=[task for task, _ in wanted],
            epochs=[epoch for _, epoch in wanted],
            limit=LOG_CHUNKS,
        )
        chunks: dict[tuple[TaskId, int], list[str]] = defaultdict(list)
        for task, epoch, text in rows:
            chunks[TaskId(str(task)), epoch].append(text)
        return {execution: last_lines("".join(reversed(texts))) for execution, texts in chunks.items()}

    def _told(self, row: Sequence[Any]) -> RecordedAct:
        position, place, at, task, act, state, epoch = row[:FIRST_KNOWN]
        return RecordedAct(EventPosition(position, place), at, task, self._acts[act], STATES[state], epoch)

    async def _lanes_of_interest(self, narrow: Sequence[Interest]) -> list[int]:
        """Return the lanes that the interests name."""
        lanes: set[int] = set()
        for tenant, queue, name in {(interest.tenant, interest.queue, interest.task) for interest in narrow}:
            rows = await self._database.fetch(
                Line.EVENTS, "find_lanes", repeat=True, tenant=tenant, queue=queue, name=name
            )
            lanes.update(number for (number,) in rows)
        return sorted(lanes)


def _facts_of(log: str, rows: Rows) -> list[Event]:
    """Return the facts in rows of the outbox as events."""
    return [
        event for position, at, _, facts in rows if facts is not None for event in fact_events(log, position, at, facts)
    ]


def _place(event: Event) -> EventPosition:
    return event.place


def _known(row: Sequence[Any], lanes: Mapping[int, Lane]) -> KnownTask | None:
    """Return what a row of read_acts says of its task; None if the task was pruned."""
    number, options, created_at, asked_due_at = row[FIRST_KNOWN:FIRST_PAST]
    if number is None:
        return None
    past, now = row[FIRST_PAST:FIRST_NOW], row[FIRST_NOW:]
    return KnownTask(
        lanes[number],
        options,
        created_at,
        asked_due_at,
        None if past[0] is None else EndedExecution._make(past),
        None if now[0] is None else LiveTask._make(now),
    )
