"""Choosing tasks under limits, and looking up their keys. All of it inside acts: nobody else writes meanwhile."""

import sqlite3
from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.core.flow import Candidate, FlowLimit
from drumline.core.task import ClaimedTask
from drumline.ports.store import ClaimRequest
from drumline.stores.flow_rows import (
    MOST_KEYS,
    Choice,
    LimitedLane,
    decide,
    limited_lanes,
    soonest,
)
from drumline.stores.parts.limits import read_limits, slot_uses, sort_lane, write_slots
from drumline.stores.sqlite.batches import batch_of, rows_of
from drumline.stores.sqlite.database import Statements, finish
from drumline.stores.sqlite.part import SqlitePart
from drumline.stores.sqlite.statements import SQL


class Limiting(SqlitePart):
    """What claims need to know of limits."""

    def _choose_limited(
        self, connection: sqlite3.Connection, request: ClaimRequest, now: Instant
    ) -> tuple[Choice, list[int]]:
        """Return the tasks under limits that a request may be given, and the lanes that they are in."""
        statements = Statements(connection)
        limits = finish(read_limits(statements))
        for lane in _lanes_for(connection, request, limits):
            if lane.is_unsorted:
                finish(sort_lane(statements, lane, now))
        # Read again: a twin may be new.
        lanes = [lane for lane in _lanes_for(connection, request, limits) if not lane.is_unsorted]
        candidates = [candidate for lane in lanes for candidate in self._heads(connection, lane, request.limit, now)]
        known = {limit.id: limit for limit in limits}
        choice = decide(candidates, finish(slot_uses(statements, candidates, known, now)), known, [request])
        if len(choice.chosen) < request.limit:
            dues = [_next_due(connection, lane, now) for lane in lanes]
            choice = Choice(choice.chosen, soonest(choice.next_at, *dues))
        return choice, [lane.number for lane in lanes]

    def _heads(self, connection: sqlite3.Connection, lane: LimitedLane, wanted: int, now: Instant) -> list[Candidate]:
        """Return the tasks of a lane that come first, of each key if it has keys."""
        if not lane.is_by_key:
            due = rows_of(connection, "due_in_lane", {"lane": lane.number, "now": now, "limit": wanted})
            return [lane.candidate(task, due_at) for due_at, task in due]
        span = {"lane": lane.number, "now": now, "each": min(wanted, lane.most_of_key), "most": MOST_KEYS}
        after = self._keys_seen.get(lane.number, 0)
        rows = rows_of(connection, "due_by_key", {**span, "after": after})
        if after and len(rows) < MOST_KEYS:
            rows += [row for row in rows_of(connection, "due_by_key", {**span, "after": 0}) if row[0] <= after]
        # The next claim goes on behind these, so that of very many keys all have their turn.
        self._keys_seen[lane.number] = rows[-1][0] if len(rows) >= MOST_KEYS else 0
        return [lane.candidate(task, due_at, key) for key, due in rows for due_at, task in due]

    def _note_slots(
        self, connection: sqlite3.Connection, taken: Sequence[ClaimedTask], choice: Choice, now: Instant
    ) -> None:
        """Note what was leased under limits, in the transaction that leases it."""
        counted = {candidate.task: candidate.slots for candidate in choice.chosen}
        slots = [
            (limit, key, task.lease.task, task.lease.epoch, now)
            for task in taken
            for limit, key in counted[task.lease.task]
        ]
        finish(write_slots(Statements(connection), slots))


def _lanes_for(connection: sqlite3.Connection, request: ClaimRequest, limits: Sequence[FlowLimit]) -> list[LimitedLane]:
    able = {"names": batch_of(request.names), "queues": batch_of(request.queues), "tenant": request.tenant}
    return limited_lanes(connection.execute(SQL["limited_lanes"], able).fetchall(), limits)


def _next_due(connection: sqlite3.Connection, lane: LimitedLane, now: Instant) -> Instant | None:
    row = connection.execute(SQL["next_due_after"], {"lane": lane.number, "now": now}).fetchone()
    return None if row is None else Instant(row[0])
