"""Flow limits, and sorting what waits under them by its keys."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from drumline.core.clock import Instant
from drumline.core.errors import NotFound
from drumline.core.flow import NO_KEY, NOTHING_USED, Candidate, FlowLimit, LimitUse, Slots, Use, key_of
from drumline.core.ids import TaskId
from drumline.core.limit_shares import Share, allowed
from drumline.core.state import State
from drumline.core.task import Lane, decode_options
from drumline.ports.hint import Hint
from drumline.stores.driver import Line, Part, Rows, Transaction
from drumline.stores.flow_rows import (
    AHEAD_MS,
    NO_SHARES,
    SORTED_AT_ONCE,
    LimitedLane,
    asked_of,
    check_limits,
    counts_differently,
    limit_of,
    limited_lanes,
    since_of,
)

_COLUMNS: Final = ("tenant", "name", "queue", "task", "keyed_by", "max_concurrent", "rate", "period_ms")


_NO_NUMBER = -1
"""Stands for a key that has no number yet."""


class FlowLimitStore(Part):
    """`ports.flow.FlowLimitStore`."""

    async def set_limit(self, limit: FlowLimit) -> tuple[FlowLimit, FlowLimit | None]:
        """Keep a limit, in place of one of the same tenant and name; return it, and that one if there was one."""
        row = {field: getattr(limit, field) for field in _COLUMNS}

        async def act(transaction: Transaction) -> tuple[FlowLimit, FlowLimit | None]:
            await self._hold(transaction)
            others = await read_limits(transaction, limit.tenant)
            check_limits(limit, others)
            before = next((other for other in others if other.name == limit.name), None)
            created_at = self._now()
            if before is not None and counts_differently(before, limit):
                # A new number: nothing that was counted or given away under the old one says anything about it.
                await self._forget(transaction, before)
                created_at = before.created_at
            await transaction.fetch("set_limit", **row, now=created_at)
            kept = next(each for each in await read_limits(transaction, limit.tenant) if each.name == limit.name)
            await self._changed(transaction, kept)
            await transaction.fetch("hold_claims")
            await adopt(transaction, kept)
            return kept, before

        return await self._database.transact(Line.REQUEST, act, repeat=True)

    async def delete_limit(self, name: str, *, tenant: str) -> FlowLimit:
        """Forget a limit and return it; raises `NotFound`."""
        seen = {limit.id for limit in await self.limits(tenant=tenant) if limit.name == name}

        async def act(transaction: Transaction) -> FlowLimit:
            await self._hold(transaction)
            found = next((limit for limit in await read_limits(transaction, tenant) if limit.id in seen), None)
            if found is None:
                raise NotFound(f"there is no limit {name}", field="name")
            await self._forget(transaction, found)
            await self._changed(transaction, found)
            return found

        return await self._database.transact(Line.REQUEST, act)

    async def limits(self, *, tenant: str | None = None) -> list[FlowLimit]:
        """Return the limits there are, by tenant and name."""
        return [
            limit_of(row)
            for row in await self._database.fetch(Line.REQUEST, "limits", repeat=True, within=tenant, tenant=tenant)
        ]

    async def limit_uses(self, task: TaskId, *, tenant: str | None = None) -> list[LimitUse]:
        """Return the limits that a queued task is under, and how much of each is used."""
        look = partial(self._limit_uses, task=task, tenant=tenant)
        return await self._database.transact(Line.REQUEST, look, repeat=True, within=tenant)

    async def running_under(self, limits: Sequence[int]) -> dict[int, int]:
        """Return how many tasks run under each of these limits."""
        rows = await self._database.fetch(Line.REQUEST, "running_under", repeat=True, limits=list(limits))
        return dict(tuple(row) for row in rows)

    async def sort_keys(self, *, most: int) -> tuple[int, list[Hint]]:
        """Look up the keys of up to `most` waiting tasks."""
        limits = await self.limits()
        now = await self._time()
        await self._database.fetch(
            Line.BROAD,
            "drop_dead_slots",
            repeat=True,
            limits=[limit.id for limit in limits],
            since=[since_of(limit, now) for limit in limits],
            most=most,
        )
        rows = await self._database.fetch(Line.BROAD, "lanes_with_twins", repeat=True)
        lanes = {lane.number: lane for lane in limited_lanes(rows, limits)}
        moved, hints = 0, []
        for number, is_twin, *words in rows:
            lane = lanes.get(number)
            if lane is not None and lane.is_unsorted:
                moved += await self._sort_lane(lane, Instant(now + AHEAD_MS), most - moved)
            elif is_twin and (lane is None or lane.keyed_by is None):
                back = await self._unsort(number, Lane(*words), most - moved)
                moved += len(back)
                hints += back if lane is None else []
        return moved, hints

    async def _hold(self, transaction: Transaction) -> None:
        """Let nobody else change limits, nor claim under them, until this is committed."""
        await transaction.fetch("hold_limits")

    async def _changed(self, transaction: Transaction, limit: FlowLimit) -> None:
        """Note that a limit was set or deleted; a store of one database has nobody to tell."""

    async def _forget(self, transaction: Transaction, limit: FlowLimit) -> None:
        """Delete a limit with all that is counted under it."""
        await transaction.fetch("delete_slots", id=limit.id)
        await transaction.fetch("delete_limit", id=limit.id)

    async def _shares(
        self,
        transaction: Transaction,  # noqa: ARG002 - for stores that have some
        slots: Sequence[Slots],  # noqa: ARG002
        now: Instant,  # noqa: ARG002
    ) -> Mapping[Slots, Share]:
        """Return what this database has of limits that are split."""
        return NO_SHARES

    async def _sort_lane(self, lane: LimitedLane, until: Instant, most: int) -> int:
        """Sort a lane in small transactions, which hold locks for a short time; return how many tasks were moved."""
        moved = 0
        while moved < most:
            part = min(SORTED_AT_ONCE, most - moved)
            sort = partial(sort_lane, lane=lane, until=until, most=part)
            _, found = await self._database.transact(Line.BROAD, sort)
            moved += found
            if found < part:
                break
        return moved

    async def _unsort(self, twin: int, lane: Lane, most: int) -> list[Hint]:
        """Put tasks back from a twin into its lane."""

        async def unsort(transaction: Transaction) -> Rows:
            (number,) = await self._lanes.numbers_in_order([lane], transaction)
            return await transaction.fetch("unsort_keys", twin=twin, lane=number, most=most)

        rows = await self._database.transact(Line.BROAD, unsort)
        return [Hint(TaskId(str(task)), lane, Instant(due_at)) for task, due_at in rows]

    async def _limit_uses(self, transaction: Transaction, task: TaskId, tenant: str | None) -> list[LimitUse]:
        rows = await transaction.fetch("under_limits", id=task, tenant=tenant, now=self._now())
        if not rows or rows[0][0] != State.QUEUED:
            return []
        _, payload, options, *words, now = rows[0]
        lane = Lane(*words)
        limits = [limit for limit in await read_limits(transaction, lane.tenant) if limit.concerns(lane)]
        keyed_by = next((limit.keyed_by for limit in limits if limit.keyed_by), None)
        key = None if keyed_by is None else key_of(keyed_by, payload, decode_options(options))
        number = NO_KEY if key is None else await _known_number(transaction, lane.tenant, key)
        under = LimitedLane(0, lane, is_twin=True, limits=tuple(limits)).candidate(task, 0, number)
        # Nothing is written: whoever asks may only be allowed to read.
        uses = await uses_of(transaction, _columns(asked_of([under], {limit.id: limit for limit in limits}, now)))
        split = [limit.slots(number) for limit in limits if limit.split]
        shares = await self._shares(transaction, split, now) if split else NO_SHARES
        return [
            LimitUse(
                limit=limit,
                key=None if limit.keyed_by is None else key,
                use=uses.get(limit.slots(number), NOTHING_USED),
                share=allowed(limit, shares.get(limit.slots(number), Share())) if limit.split else None,
            )
            for limit in limits
        ]


async def adopt(transaction: Transaction, limit: FlowLimit) -> None:
    """Let what runs already count to a limit."""
    lanes = limited_lanes(await transaction.fetch("lanes_with_twins"), [limit])
    rows = await transaction.fetch("running_in_lanes", lanes=[lane.number for lane in lanes])
    keys = [NO_KEY] * len(rows)
    if limit.keyed_by is not None and rows:
        keys = await key_numbers(transaction, limit.tenant, keys_of(rows, limit.keyed_by))
    slots = [
        (limit.id, key, task, epoch, started_at) for (task, epoch, started_at, *_), key in zip(rows, keys, strict=True)
    ]
    await write_slots(transaction, slots)


async def sort_lane(
    transaction: Transaction, lane: LimitedLane, until: Instant, most: int = SORTED_AT_ONCE
) -> tuple[LimitedLane | None, int]:
    """Look up the keys of tasks and put them into the lane's twin; return that, and how many there were."""
    rows = await transaction.fetch("unsorted", lane=lane.number, until=until, most=most)
    if not rows:
        return None, 0
    keys = await key_numbers(transaction, lane.lane.tenant, keys_of(rows, lane.keyed_by or ""))
    twins = await transaction.fetch("twin_number", lane=lane.number)
    if not twins:
        await transaction.fetch("insert_twin", lane=lane.number)
        twins = await transaction.fetch("twin_number", lane=lane.number)
    await transaction.fetch("sort_keys", twin=twins[0][0], tasks=[row[0] for row in rows], keys=keys)
    return LimitedLane(twins[0][0], lane.lane, is_twin=True, limits=lane.limits), len(rows)


async def read_limits(transaction: Transaction, tenant: str | None = None) -> list[FlowLimit]:
    """Return the limits of a tenant, or all."""
    return [limit_of(row) for row in await transaction.fetch("limits", tenant=tenant)]


def keys_of(rows: Rows, keyed_by: str) -> list[str]:
    """Return the keys of tasks, whose rows end with payload and options."""
    return [key_of(keyed_by, row[-2], decode_options(row[-1])) for row in rows]


async def key_numbers(transaction: Transaction, tenant: str, keys: Sequence[str]) -> list[int]:
    """Return the number of each key, giving one to those that are new."""
    wanted = sorted(set(keys))
    rows = await transaction.fetch("limit_key_numbers", tenant=tenant, keys=wanted)
    if len(rows) < len(wanted):
        await transaction.fetch("insert_limit_keys", tenant=tenant, keys=wanted)
        rows = await transaction.fetch("limit_key_numbers", tenant=tenant, keys=wanted)
    numbers = dict(tuple(row) for row in rows)
    return [numbers[key] for key in keys]


async def _known_number(transaction: Transaction, tenant: str, key: str) -> int:
    """Return the number of a key; one that no key has if it has none yet, so that nothing is used under it."""
    rows = await transaction.fetch("limit_key_numbers", tenant=tenant, keys=[key])
    return int(rows[0][1]) if rows else _NO_NUMBER


async def slot_uses(
    transaction: Transaction, candidates: Sequence[Candidate], limits: Mapping[int, FlowLimit], now: Instant
) -> dict[Slots, Use]:
    """Return how much is used of what candidates count to; what nothing counts any more is forgotten."""
    asked = _columns(asked_of(candidates, limits, now))
    await transaction.fetch("drop_slots", **asked)
    return await uses_of(transaction, asked)


async def uses_of(transaction: Transaction, asked: Mapping[str, Sequence[int]]) -> dict[Slots, Use]:
    """Return how much is used, given columns: limits, their keys, and the time after which starts count."""
    rows = await transaction.fetch("slot_uses", **asked)
    return {(limit, key): Use(running, started, oldest) for limit, key, running, started, oldest in rows}


async def write_slots(transaction: Transaction, slots: Sequence[Sequence[Any]], now: Instant | None = None) -> None:
    """Note slots, given as limit, key, task, epoch and time of the start; those that are known stay.

    A time of None is `now`, or that of the database: after the wait for a lock, when the task really starts.
    """
    if slots:
        names = ("limits", "keys", "tasks", "epochs", "started_at")
        columns = {name: list(column) for name, column in zip(names, zip(*slots, strict=True), strict=True)}
        await transaction.fetch("insert_slots", **columns, now=now)


def _columns(asked: Iterable[Sequence[int]]) -> dict[str, list[int]]:
    rows = list(asked)
    return {
        "limits": [row[0] for row in rows],
        "keys": [row[1] for row in rows],
        "since": [row[2] for row in rows],
    }
