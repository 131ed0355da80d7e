"""What this database has of limits, uses of them, and what waits for more."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from drumline.core.clock import Clock, Instant
from drumline.core.flow import NO_KEY, NOTHING_USED, FlowLimit, Slots, Use
from drumline.core.limit_shares import Amount, Holding, Share, ShareKey, allowed
from drumline.stores.driver import Database, Lanes, Part, Transaction
from drumline.stores.flow_rows import LimitedLane, limited_lanes, since_of
from drumline.stores.parts.limits import key_numbers, read_limits, uses_of

MOST_WAITING: Final = 10_000
"""How far waiting tasks are counted."""


async def read_shares(transaction: Transaction, slots: Sequence[Slots], now: Instant) -> dict[Slots, Share]:
    """Return what this database was given of limits and keys; of what is missing it was given nothing."""
    rows = await transaction.fetch(
        "limit_shares", limits=[limit for limit, _ in slots], keys=[key for _, key in slots], now=now
    )
    return {
        (limit, key): Share(Amount(running, starts), running_ceiling, starts_ceiling)
        for limit, key, running, starts, running_ceiling, starts_ceiling in rows
    }


class Overview(Struct, frozen=True):
    """The limits there are, and the lanes under them in which tasks are due, at one time."""

    now: Instant
    limits: dict[int, FlowLimit]
    lanes: list[LimitedLane]

    def slots_without_keys(self) -> set[Slots]:
        """Return what is counted for limits without keys that due tasks are under."""
        return {limit.slots(NO_KEY) for lane in self.lanes for limit in lane.limits if limit.keyed_by is None}


class HoldingsPart(Part):
    """Reads shares together with their use and what waits for them."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes) -> None:
        super().__init__(database, clock, lanes)
        self._keys_seen: dict[int, int] = {}
        """The last key of each lane that was looked at, where there were too many for one look."""

    async def _time_in(self, transaction: Transaction) -> Instant:
        ((now,),) = await transaction.fetch("now", now=self._now())
        return Instant(now)

    async def _overview(self, transaction: Transaction) -> Overview:
        now = await self._time_in(transaction)
        limits = await read_limits(transaction)
        rows = await transaction.fetch("lanes_with_waiting", now=now) if limits else []
        return Overview(now, {limit.id: limit for limit in limits}, limited_lanes(rows, limits))

    async def _waiting_keys(self, transaction: Transaction, overview: Overview, most: int) -> set[Slots]:
        """Return what is counted for keys that tasks wait under: up to `most` of each lane, others the next time."""
        found: set[Slots] = set()
        for lane in overview.lanes:
            if lane.is_by_key:
                after = self._keys_seen.get(lane.number, 0)
                rows = await transaction.fetch("keys_in_lane", lane=lane.number, after=after, most=most)
                self._keys_seen[lane.number] = rows[-1][0] if len(rows) >= most else 0
                keyed = [limit for limit in lane.limits if limit.keyed_by is not None]
                found |= {limit.slots(key) for limit in keyed for (key,) in rows}
        return found

    async def _holdings(self, transaction: Transaction, overview: Overview, slots: Sequence[Slots]) -> list[Holding]:
        """Return what this database has of what is counted together."""
        known = [each for each in slots if each[0] in overview.limits]
        if not known:
            return []
        shares = await read_shares(transaction, known, overview.now)
        uses = await uses_of(transaction, asked_columns(overview.limits, known, overview.now))
        waiting = await self._waiting(transaction, overview, known)
        texts = await transaction.fetch("limit_key_texts", ids=sorted({key for _, key in known} - {NO_KEY}))
        keys = dict(tuple(row) for row in texts)
        return [
            Holding(
                limit=each[0],
                key=keys.get(each[1]),
                share=share_of(overview.limits[each[0]], shares.get(each)),
                used=used_of(uses.get(each)),
                waiting=waiting.get(each, 0),
                counts_running=overview.limits[each[0]].max_concurrent is not None,
                counts_starts=overview.limits[each[0]].rate is not None,
            )
            for each in known
        ]

    async def _waiting(self, transaction: Transaction, overview: Overview, slots: Iterable[Slots]) -> dict[Slots, int]:
        """Return how many due tasks wait for what is counted together."""
        counts: dict[Slots, int] = {}
        wanted = set(slots)
        lanes = {lane.number: lane for lane in overview.lanes}
        whole = [number for number, lane in lanes.items() if any(each.slots(NO_KEY) in wanted for each in lane.limits)]
        for number, waiting in await transaction.fetch("count_due", lanes=whole, most=MOST_WAITING, now=overview.now):
            for limit in lanes[number].limits:
                if limit.keyed_by is None:
                    _add(counts, limit.slots(NO_KEY), waiting)
        pairs = sorted(
            {(lane.number, key) for lane in lanes.values() if lane.is_by_key for key in _keys_of(lane, wanted)}
        )
        for number, key, waiting in await transaction.fetch(
            "count_due_of_keys",
            lanes=[lane for lane, _ in pairs],
            keys=[key for _, key in pairs],
            most=MOST_WAITING,
            now=overview.now,
        ):
            for limit in lanes[number].limits:
                if limit.keyed_by is not None:
                    _add(counts, limit.slots(key), waiting)
        return counts

    async def _numbers(
        self, transaction: Transaction, limits: Mapping[int, FlowLimit], about: Sequence[ShareKey]
    ) -> dict[ShareKey, Slots]:
        """Return what is counted here for limits and keys. New keys get a number; unknown limits are left out."""
        found: dict[ShareKey, Slots] = {(limit, None): (limit, NO_KEY) for limit, key in about if key is None}
        wanted: dict[str, set[tuple[int, str]]] = {}
        for limit, key in about:
            if key is not None and limit in limits:
                wanted.setdefault(limits[limit].tenant, set()).add((limit, key))
        for tenant, pairs in sorted(wanted.items()):
            keys = sorted({key for _, key in pairs})
            numbers = dict(zip(keys, await key_numbers(transaction, tenant, keys), strict=True))
            found |= {(limit, key): (limit, numbers[key]) for limit, key in pairs}
        return {about: slots for about, slots in found.items() if slots[0] in limits}


def asked_columns(limits: Mapping[int, FlowLimit], slots: Sequence[Slots], now: Instant) -> dict[str, list[int]]:
    """Return what `slot_uses` is asked."""
    return {
        "limits": [limit for limit, _ in slots],
        "keys": [key for _, key in slots],
        "since": [since_of(limits[limit], now) for limit, _ in slots],
    }


def share_of(limit: FlowLimit, share: Share | None) -> Amount:
    """Return how much of a limit this database has, whatever the ceiling is for the moment."""
    given = Share() if share is None else Share(share.given)
    here = allowed(limit, given)
    return Amount(here.max_concurrent or 0, here.rate or 0)


def used_of(use: Use | None) -> Amount:
    """Return how much is used: what runs, and what has started within the period."""
    use = use or NOTHING_USED
    return Amount(use.running, use.started)


def _keys_of(lane: LimitedLane, wanted: set[Slots]) -> set[int]:
    numbers = {limit.id for limit in lane.limits if limit.keyed_by is not None}
    return {key for limit, key in wanted if limit in numbers and key != NO_KEY}


def _add(counts: dict[Slots, int], slots: Slots, waiting: int) -> None:
    counts[slots] = min(counts.get(slots, 0) + waiting, MOST_WAITING)
