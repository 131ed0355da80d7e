"""Choosing tasks under limits, and looking up their keys. All of it inside acts: nobody else writes meanwhile."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.flow import Candidate, FlowLimit, Slots, Use, key_of
from drumline.core.task import ClaimedTask, Lane, decode_options
from drumline.ports.store import ClaimRequest
from drumline.stores.flow_rows import (
    MOST_KEYS,
    SORTED_AT_ONCE,
    Choice,
    LimitedLane,
    asked_of,
    decide,
    limit_of,
    limited_lanes,
    soonest,
)
from drumline.stores.sqlite.access import Access, batch_of, rows_of
from drumline.stores.sqlite.statements import SQL


class Limiting(Access):
    """What claims need to know of limits."""

    def _choose_limited(
        self, connection: sqlite3.Connection, request: ClaimRequest, now: Instant
    ) -> tuple[Choice, list[int]]:
        """Return the tasks under limits that a request may be given, and the lanes that they are in."""
        limits = read_limits(connection)
        for lane in _lanes_for(connection, request, limits):
            if lane.is_unsorted:
                self._sort(connection, lane, now)
        # Read again: a twin may be new.
        lanes = [lane for lane in _lanes_for(connection, request, limits) if not lane.is_unsorted]
        candidates = [candidate for lane in lanes for candidate in self._heads(connection, lane, request.limit, now)]
        known = {limit.id: limit for limit in limits}
        choice = decide(candidates, slot_uses(connection, candidates, known, now), known, [request])
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
        write_slots(
            connection,
            [
                [limit, key, task.lease.task, task.lease.epoch, now]
                for task in taken
                for limit, key in counted[task.lease.task]
            ],
        )

    def _sort(
        self, connection: sqlite3.Connection, lane: LimitedLane, until: Instant, most: int = SORTED_AT_ONCE
    ) -> int:
        """Look up the keys of tasks, and put them into the lane's twin; return how many."""
        span = {"lane": lane.number, "until": until, "most": most}
        rows = connection.execute(SQL["unsorted"], span).fetchall()
        if not rows:
            return 0
        keys = key_numbers(connection, lane.lane.tenant, keys_of(rows, lane.keyed_by or ""))
        words = words_of(lane.lane)
        connection.execute(SQL["insert_twin"], words)
        (twin,) = connection.execute(SQL["twin_number"], words).fetchone()
        tasks = [[task, key] for (task, _, _), key in zip(rows, keys, strict=True)]
        connection.execute(SQL["sort_keys"], {"twin": twin, "tasks": batch_of(tasks)})
        return len(rows)


def read_limits(connection: sqlite3.Connection, tenant: str | None = None) -> list[FlowLimit]:
    """Return the limits of a tenant, or all."""
    return [limit_of(row) for row in connection.execute(SQL["limits"], {"tenant": tenant})]


def keys_of(rows: Sequence[tuple[Any, ...]], keyed_by: str) -> list[str]:
    """Return the keys of tasks, whose rows end with payload and options."""
    return [key_of(keyed_by, row[-2].encode(), decode_options(row[-1])) for row in rows]


def key_numbers(connection: sqlite3.Connection, tenant: str, keys: Sequence[str]) -> list[int]:
    """Return the number of each key, giving one to those that are new."""
    given = {"tenant": tenant, "keys": batch_of(sorted(set(keys)))}
    connection.execute(SQL["insert_keys"], given)
    numbers = dict(connection.execute(SQL["key_numbers"], given).fetchall())
    return [numbers[key] for key in keys]


def slot_uses(
    connection: sqlite3.Connection, candidates: Sequence[Candidate], limits: Mapping[int, FlowLimit], now: Instant
) -> dict[Slots, Use]:
    """Return how much is used of what candidates count to; what nothing counts any more is forgotten."""
    asked = batch_of(asked_of(candidates, limits, now))
    connection.execute(SQL["drop_slots"], {"slots": asked})
    rows = rows_of(connection, "slot_uses", {"slots": asked})
    return {(limit, key): Use(running, started, oldest) for limit, key, running, started, oldest in rows}


def write_slots(connection: sqlite3.Connection, slots: Sequence[Sequence[Any]]) -> None:
    """Note slots, given as limit, key, task, epoch and time of the start; those that are known stay."""
    if slots:
        connection.execute(SQL["insert_slots"], {"slots": batch_of(slots)})


def _lanes_for(connection: sqlite3.Connection, request: ClaimRequest, limits: Sequence[FlowLimit]) -> list[LimitedLane]:
    able = {"names": batch_of(request.names), "queues": batch_of(request.queues), "tenant": request.tenant}
    return limited_lanes(connection.execute(SQL["limited_lanes"], able).fetchall(), limits)


def _next_due(connection: sqlite3.Connection, lane: LimitedLane, now: Instant) -> Instant | None:
    row = connection.execute(SQL["next_due_after"], {"lane": lane.number, "now": now}).fetchone()
    return None if row is None else Instant(row[0])


def words_of(lane: Lane) -> tuple[str, str, str, int]:
    """Return a lane as the statements about its number take it."""
    return lane.tenant, lane.queue, lane.name, lane.priority
