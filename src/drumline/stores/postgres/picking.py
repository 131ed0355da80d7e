"""Reading the event log for the notifier: the events that somebody wants to be told of."""

from collections.abc import Sequence

from drumline.core.ids import JobId
from drumline.core.state import TERMINAL, State
from drumline.ports.notifications import EndedTask, Interest, Picked, Span
from drumline.stores.driver import Line
from drumline.stores.events import LOGGED_IN_NOTIFICATIONS, fact_events
from drumline.stores.notification_rows import broad_and_narrow, ended_task
from drumline.stores.postgres.outbox import Outbox


class EventLog(Outbox):
    """`ports.outbox.EventLog` on PostgreSQL."""

    async def pick_events(self, span: Span, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
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
        events = [
            event
            for position, at, _, facts in rows
            if facts is not None
            for event in fact_events(log, position, at, facts)
        ]
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
            events = sorted(events + ends, key=lambda event: event.place)
        return Picked(tuple(events), rows[-1][0], is_full=len(rows) == span.limit)

    async def ends_in_jobs(self, jobs: Sequence[JobId], outcome: State, *, limit: int) -> list[list[EndedTask]]:
        """Return up to `limit` tasks of each job that ended so."""
        rows = await self._database.fetch(
            Line.EVENTS,
            "ends_in_jobs",
            repeat=True,
            jobs=list(jobs),
            outcome=int(outcome),
            newest=outcome is State.COMPLETED,
            limit=limit,
        )
        lanes = await self._lanes.lanes({row["lane"] for row in rows})
        logs = await self._last_lines([(row["task"], row["epoch"]) for row in rows])
        found: list[list[EndedTask]] = [[] for _ in jobs]
        for place, key, task, lane, epoch, error in rows:
            ended = ended_task(key, task, lanes[lane].name, error, logs.get((task, epoch)))
            found[place - 1].append(ended)
        return found

    async def _lanes_of_interest(self, narrow: Sequence[Interest]) -> list[int]:
        """Return the lanes that somebody is interested in."""
        lanes: set[int] = set()
        for tenant, queue, name in {(interest.tenant, interest.queue, interest.task) for interest in narrow}:
            rows = await self._database.fetch(
                Line.EVENTS, "find_lanes", repeat=True, tenant=tenant, queue=queue, name=name
            )
            lanes.update(number for (number,) in rows)
        return sorted(lanes)
