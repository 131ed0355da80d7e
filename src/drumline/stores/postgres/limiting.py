"""Choosing tasks under limits, and looking up their keys.

One transaction: find the lanes that have work, lock their limits, count, lease, note the slots. Whoever claims under
the same limit waits for the lock, and then counts what was leased meanwhile.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.flow import Candidate, FlowLimit
from drumline.ports.store import ClaimRequest
from drumline.stores.driver import Transaction
from drumline.stores.flow_rows import (
    MOST_KEYS,
    NO_SHARES,
    Choice,
    LimitedLane,
    decide,
    limit_of,
    limited_lanes,
    soonest,
)
from drumline.stores.parts.limits import read_limits, slot_uses, sort_lane
from drumline.stores.postgres.limit_holdings import read_shares
from drumline.stores.postgres.part import PostgresPart

NOTHING = Choice([], None)


class Limiting(PostgresPart):
    """What claims need to know of limits."""

    async def _choose_limited(
        self, transaction: Transaction, able: Mapping[str, Any], requests: Sequence[ClaimRequest]
    ) -> Choice:
        """Return the tasks under limits that requests may be given, with those limits locked."""
        rows = await transaction.fetch("limited_lanes", **able, now=self._now())
        if not rows:
            return NOTHING
        now = Instant(rows[0][0])
        next_due = soonest(*[row[-1] for row in rows])
        due = [row[1:-2] for row in rows if row[-2]]
        locked = await self._lock_limits(transaction, due)
        # One that came between the look and the lock is not locked: its lanes are left to the next claim.
        limits = await read_limits(transaction)
        known = [lane for lane in limited_lanes(due, limits) if all(limit.id in locked for limit in lane.limits)]
        lanes = await self._sorted(transaction, known, now)
        candidates = [each for lane in lanes for each in await self._heads(transaction, lane, requests, now)]
        uses = await slot_uses(transaction, candidates, locked, now)
        split = {slots for each in candidates for slots in each.slots if locked[slots[0]].split}
        shares = await read_shares(transaction, sorted(split), now) if split else NO_SHARES
        choice = decide(candidates, uses, locked, requests, shares)
        return Choice(choice.chosen, soonest(choice.next_at, next_due))

    async def _lock_limits(self, transaction: Transaction, lanes: Iterable[Iterable[Any]]) -> dict[int, FlowLimit]:
        """Lock the limits of lanes and return them as they are now. While they are locked, none is set or deleted."""
        limits = await read_limits(transaction)
        concerned = {limit.id for lane in limited_lanes(lanes, limits) for limit in lane.limits}
        rows = await transaction.fetch("lock_limits", limits=sorted(concerned)) if concerned else []
        return {limit.id: limit for limit in map(limit_of, rows)}

    async def _sorted(self, transaction: Transaction, lanes: Sequence[LimitedLane], now: Instant) -> list[LimitedLane]:
        """Return the lanes to claim from, once the keys of tasks were looked up."""
        found = {lane.number: lane for lane in lanes if not lane.is_unsorted}
        for lane in lanes:
            if lane.is_unsorted:
                twin, _ = await sort_lane(transaction, lane, now)
                if twin is not None:
                    found[twin.number] = twin
        return list(found.values())

    async def _heads(
        self, transaction: Transaction, lane: LimitedLane, requests: Sequence[ClaimRequest], now: Instant
    ) -> list[Candidate]:
        """Return the tasks of a lane that come first, of each key if it has keys."""
        wanted = sum(request.limit for request in requests)
        if not lane.is_by_key:
            rows = await transaction.fetch("due_in_lanes", lanes=[lane.number], each=wanted, now=now)
            return [lane.candidate(str(task), due_at) for _, task, due_at in rows]
        span = {"lane": lane.number, "now": now, "each": min(wanted, lane.most_of_key), "most": MOST_KEYS}
        after = self._keys_seen.get(lane.number, 0)
        found = await transaction.fetch("due_by_key", **span, after=after)
        keys = {row[0] for row in found}
        if after and len(keys) < MOST_KEYS:
            found = [
                *found,
                *[row for row in await transaction.fetch("due_by_key", **span, after=0) if row[0] <= after],
            ]
        # The next claim goes on behind these, so that of very many keys all have their turn.
        self._keys_seen[lane.number] = max(keys) if len(keys) >= MOST_KEYS else 0
        return [lane.candidate(str(task), due_at, key) for key, task, due_at in found if task is not None]
