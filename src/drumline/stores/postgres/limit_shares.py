"""This database's shares of limits, where an installation has several databases.

A share changes only under the lock of its limit, which claims take as well: so what is in use cannot rise while it is
lowered. Locks are taken in one order: limits by their numbers, the state of the definitions, databases by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from drumline.core.clock import Instant
from drumline.core.errors import Conflict
from drumline.core.flow import FlowLimit, Slots
from drumline.core.limit_shares import (
    Amount,
    Ceiling,
    Gift,
    Holding,
    LimitDefinitions,
    Share,
    ShareKey,
    Transfer,
)
from drumline.stores.driver import Line, Transaction
from drumline.stores.flow_rows import limit_of
from drumline.stores.parts.limits import FlowLimitStore, adopt, read_limits, uses_of
from drumline.stores.postgres.limit_holdings import HoldingsPart, asked_columns, read_shares, share_of, used_of

ASKED_MS: Final = 3_000
"""How long a ceiling holds that is not renewed."""
IDLE_MS: Final = 60_000
"""How long a share was not used that goes back to the directory."""


class PostgresFlowLimits(FlowLimitStore):
    """`ports.flow.FlowLimitStore` of the directory, or of a lone database."""

    async def _hold(self, transaction: Transaction) -> None:
        """Hold the limits; those of a copy have the directory's numbers, and change only with the directory's."""
        await super()._hold(transaction)
        rows = await transaction.fetch("limit_version")
        if rows and rows[0][1]:
            raise Conflict("limits are set in the directory; this database has a copy of them", field="name")

    async def _changed(self, transaction: Transaction, limit: FlowLimit) -> None:
        """Raise the version of the limits, so that the copies are brought up to date."""
        await transaction.fetch("raise_limit_version", id=limit.id)

    async def _forget(self, transaction: Transaction, limit: FlowLimit) -> None:
        await forget_limit(transaction, limit)

    async def _shares(self, transaction: Transaction, slots: Sequence[Slots], now: Instant) -> Mapping[Slots, Share]:
        return await read_shares(transaction, slots, now)


async def forget_limit(transaction: Transaction, limit: FlowLimit) -> None:
    """Delete a limit with what is counted and was given under it. The table of limits is locked."""
    await transaction.fetch("delete_slots", id=limit.id)
    await transaction.fetch("delete_shares", id=limit.id)
    await transaction.fetch("delete_limit", id=limit.id)


class LimitShares(HoldingsPart):
    """`ports.limit_shares.LimitShares` on PostgreSQL."""

    async def version(self) -> int:
        """Return how often limits were set or deleted in this database."""
        rows = await self._database.fetch(Line.REQUEST, "limit_version", repeat=True)
        return int(rows[0][0]) if rows else 0

    async def installed(self) -> int:
        """Return the version of the directory's limits that this database has; below 0 if it never had any."""
        rows = await self._database.fetch(Line.REQUEST, "limit_version", repeat=True)
        return int(rows[0][0]) if rows and rows[0][1] else -1

    async def definitions(self) -> LimitDefinitions:
        """Return all limits as they are now."""
        rows = await self._database.fetch(Line.REQUEST, "limit_definitions", repeat=True)
        limits = tuple(limit_of(row[3:]) for row in rows if row[3] is not None)
        directory, version, last_id = rows[0][:3]
        return LimitDefinitions(directory=directory, version=version, last_id=last_id, limits=limits)

    async def install(self, definitions: LimitDefinitions) -> bool:
        """Have the directory's limits, and no others; return whether some have gone."""

        async def act(transaction: Transaction) -> bool:
            await transaction.fetch("hold_limits")
            known = await transaction.fetch("limit_version")
            is_copy = bool(known and known[0][1])
            if is_copy and known[0][0] >= definitions.version:
                return False
            wanted = {limit.id for limit in definitions.limits}
            kept = set()
            before = await read_limits(transaction)
            for limit in before:
                if is_copy and limit.id in wanted:
                    kept.add(limit.id)
                else:
                    await forget_limit(transaction, limit)
            await transaction.fetch("install_limits", **_install_columns(definitions.limits))
            await transaction.fetch(
                "install_limit_version",
                version=definitions.version,
                last_id=definitions.last_id,
                directory=definitions.directory,
            )
            await transaction.fetch("hold_claims")
            for limit in definitions.limits:
                if limit.id not in kept:
                    await adopt(transaction, limit)
            return len(kept) < len(before)

        return await self._database.transact(Line.REQUEST, act, repeat=True)

    async def short(self, *, most: int, thorough: bool) -> list[ShareKey]:
        """Return what tasks wait for here without room, or less than nothing is left of."""

        async def act(transaction: Transaction) -> list[ShareKey]:
            overview = await self._overview(transaction)
            if not overview.limits:
                return []
            overdrawn = [tuple(row) for row in await transaction.fetch("overdrawn", thorough=thorough, most=most)]
            slots = {*overdrawn, *overview.slots_without_keys(), *await self._waiting_keys(transaction, overview, most)}
            found = await self._holdings(transaction, overview, sorted(slots))
            return [each.about for each in found if each.is_short][:most]

        return await self._database.transact(Line.SWEEP, act, repeat=True)

    async def holdings(self, about: Sequence[ShareKey]) -> list[Holding]:
        """Return what this database has of limits and keys."""

        async def act(transaction: Transaction) -> list[Holding]:
            overview = await self._overview(transaction)
            numbers = await self._numbers(transaction, overview.limits, about)
            return await self._holdings(transaction, overview, sorted(set(numbers.values())))

        return await self._database.transact(Line.SWEEP, act, repeat=True)

    async def given(self, *, most: int, idle: bool) -> list[Holding]:
        """Return shares that this database was given, all or those that are not needed."""

        async def act(transaction: Transaction) -> list[Holding]:
            overview = await self._overview(transaction)
            before = overview.now - IDLE_MS
            await transaction.fetch("drop_empty_shares", before=before)
            rows = await transaction.fetch("given_shares", before=before, idle=idle, most=most)
            found = await self._holdings(transaction, overview, sorted((limit, key) for limit, key in rows))
            return [each for each in found if not idle or not (each.used or each.waiting)]

        return await self._database.transact(Line.SWEEP, act, repeat=True)

    async def give(self, gifts: Sequence[Gift]) -> int:
        """Lower shares, none under what is in use, and write a transfer for each; return how many were written."""

        async def act(transaction: Transaction) -> int:
            limits = await _lock(transaction, (gift.limit for gift in gifts))
            numbers = await self._numbers(transaction, limits, [(gift.limit, gift.key) for gift in gifts])
            room = await self._room(transaction, limits, sorted(set(numbers.values())))
            given: dict[str, list[tuple[Slots, Amount]]] = {}
            for gift in gifts:
                slots = numbers.get((gift.limit, gift.key))
                if slots is None:
                    continue  # deleted
                left = room[slots]
                amount = Amount(min(gift.amount.running, left.running), min(gift.amount.starts, left.starts))
                room[slots] = Amount(left.running - amount.running, left.starts - amount.starts)
                if amount:
                    given.setdefault(gift.taker, []).append((slots, amount))
            return await self._write_transfers(transaction, given)

        return await self._database.transact(Line.REQUEST, act)

    async def ask(self, ceilings: Sequence[Ceiling]) -> None:
        """Use no more than this of limits until some of it was given, or until a few seconds have passed."""

        async def act(transaction: Transaction) -> None:
            limits = await _lock(transaction, (each.limit for each in ceilings))
            numbers = await self._numbers(transaction, limits, [(each.limit, each.key) for each in ceilings])
            asked = {numbers[each.limit, each.key]: each for each in ceilings if (each.limit, each.key) in numbers}
            now = await self._time_in(transaction)
            await transaction.fetch("mark_split", limits=sorted(limits))
            await transaction.fetch(
                "set_ceilings",
                limits=[limit for limit, _ in asked],
                keys=[key for _, key in asked],
                running=[each.running for each in asked.values()],
                starts=[each.starts for each in asked.values()],
                until=now + ASKED_MS,
                now=now,
            )

        if ceilings:
            await self._database.transact(Line.REQUEST, act, repeat=True)

    async def transfers(self, *, most: int) -> list[Transfer]:
        """Return the oldest transfers to each taker, in order."""
        rows = await self._database.fetch(Line.REQUEST, "transfers", repeat=True, most=most)
        return [
            Transfer(taker=taker, number=number, limit=limit, key=key, amount=Amount(running, starts))
            for taker, number, limit, key, running, starts in rows
        ]

    async def take(self, giver: str, transfers: Sequence[Transfer]) -> list[int]:
        """Raise shares by the transfers of a giver, each once; return the numbers of those that are applied."""

        async def act(transaction: Transaction) -> list[int]:
            limits = await _lock(transaction, (transfer.limit for transfer in transfers))
            rows = await transaction.fetch("hold_definitions")
            last_id, is_closed = rows[0] if rows else (0, False)
            ((received,),) = await transaction.fetch("lock_giver", giver=giver)
            applied, new = [], []
            for transfer in transfers:
                if transfer.number > received:
                    is_unheard = transfer.limit not in limits and transfer.limit > last_id
                    if is_closed or is_unheard:
                        break
                    received = transfer.number
                    new.append(transfer)
                applied.append(transfer.number)
            if new:
                await self._raise(transaction, limits, [each for each in new if each.limit in limits])
                await transaction.fetch("note_received", giver=giver, number=received)
            return applied

        return await self._database.transact(Line.REQUEST, act, repeat=True)

    async def finish(self, taker: str, numbers: Sequence[int]) -> None:
        """Delete transfers that the taker has applied."""
        await self._database.fetch(Line.REQUEST, "finish_transfers", repeat=True, taker=taker, numbers=list(numbers))

    async def close(self) -> Mapping[str, int]:
        """Take no more transfers from now on; return the last number that was applied of each giver's."""

        async def act(transaction: Transaction) -> Mapping[str, int]:
            await transaction.fetch("close_shares")
            return dict(tuple(row) for row in await transaction.fetch("limits_received"))

        return await self._database.transact(Line.REQUEST, act, repeat=True)

    async def wipe(self) -> None:
        """Forget the directory's limits, and all that was given and taken."""

        async def act(transaction: Transaction) -> None:
            await transaction.fetch("hold_limits")
            rows = await transaction.fetch("limit_version")
            if not rows or not rows[0][1]:
                return
            for limit in await read_limits(transaction):
                await forget_limit(transaction, limit)
            await transaction.fetch("delete_peers")

        await self._database.transact(Line.REQUEST, act, repeat=True)

    async def disown(self, taker: str, *, applied: int) -> None:
        """Give no more to a database that was closed, and take back the transfers after the last one applied."""

        async def act(transaction: Transaction) -> None:
            seen = await transaction.fetch("transfers_to", taker=taker)
            await _lock(transaction, (row[1] for row in seen))
            await transaction.fetch("disown_peer", taker=taker)
            # Read again: whoever was giving to it had its row locked until now.
            rows = await transaction.fetch("transfers_to", taker=taker)
            back = [((limit, key), Amount(*amount)) for number, limit, key, *amount in rows if number > applied]
            await self._change(transaction, back)
            await transaction.fetch("finish_transfers", taker=taker, numbers=[row[0] for row in rows])

        await self._database.transact(Line.REQUEST, act, repeat=True)

    async def admit(self, peer: str) -> int:
        """Give to a database that has joined, in case one of its name has left; return that one's last number."""
        rows = await self._database.fetch(Line.REQUEST, "admit_peer", repeat=True, peer=peer)
        return int(rows[0][0]) if rows else 0

    async def number_after(self, numbers: Mapping[str, int]) -> None:
        """Number transfers to these databases above what they have had from one of this database's name before."""
        await self._database.fetch(
            Line.REQUEST, "number_after", repeat=True, takers=list(numbers), numbers=list(numbers.values())
        )

    async def _write_transfers(
        self, transaction: Transaction, given: Mapping[str, Sequence[tuple[Slots, Amount]]]
    ) -> int:
        rows: list[tuple[Any, ...]] = []
        for taker, parts in sorted(given.items()):
            last = await transaction.fetch("number_transfers", taker=taker, count=len(parts))
            if last:  # else it has gone
                first = last[0][0] - len(parts) + 1
                rows += [
                    (taker, first + place, *slots, amount.running, amount.starts)
                    for place, (slots, amount) in enumerate(parts)
                ]
        if not rows:
            return 0
        await self._change(transaction, [((row[2], row[3]), Amount(-row[4], -row[5])) for row in rows])
        await transaction.fetch("mark_split", limits=sorted({row[2] for row in rows}))
        names = ("takers", "numbers", "limits", "keys", "running", "starts")
        columns = zip(names, zip(*rows, strict=True), strict=True)
        await transaction.fetch("insert_transfers", **{name: list(column) for name, column in columns})
        return len(rows)

    async def _raise(
        self, transaction: Transaction, limits: Mapping[int, FlowLimit], transfers: Sequence[Transfer]
    ) -> None:
        about = [(transfer.limit, transfer.key) for transfer in transfers]
        numbers = await self._numbers(transaction, limits, about)
        await self._change(transaction, [(numbers[each.limit, each.key], each.amount) for each in transfers])

    async def _change(self, transaction: Transaction, changes: Sequence[tuple[Slots, Amount]]) -> None:
        """Change shares by amounts."""
        sums: dict[Slots, Amount] = {}
        for slots, amount in changes:
            before = sums.get(slots, Amount())
            sums[slots] = Amount(before.running + amount.running, before.starts + amount.starts)
        if sums:
            await transaction.fetch(
                "change_shares",
                limits=[limit for limit, _ in sums],
                keys=[key for _, key in sums],
                running=[amount.running for amount in sums.values()],
                starts=[amount.starts for amount in sums.values()],
                now=self._now(),
            )

    async def _room(
        self, transaction: Transaction, limits: Mapping[int, FlowLimit], slots: Sequence[Slots]
    ) -> dict[Slots, Amount]:
        """Return what could be given: the share, less what is in use. The limits are locked."""
        now = await self._time_in(transaction)
        shares = await read_shares(transaction, slots, now)
        uses = await uses_of(transaction, asked_columns(limits, slots, now))
        room = {}
        for each in slots:
            share, used = share_of(limits[each[0]], shares.get(each)), used_of(uses.get(each))
            room[each] = Amount(max(share.running - used.running, 0), max(share.starts - used.starts, 0))
        return room


async def _lock(transaction: Transaction, limits: Iterable[int]) -> dict[int, FlowLimit]:
    """Lock limits against claims and changes of their shares, and return those that there are."""
    rows = await transaction.fetch("lock_limits", limits=sorted(set(limits)))
    return {limit.id: limit for limit in map(limit_of, rows)}


def _install_columns(limits: Sequence[FlowLimit]) -> dict[str, list[Any]]:
    return {
        "ids": [limit.id for limit in limits],
        "tenants": [limit.tenant for limit in limits],
        "names": [limit.name for limit in limits],
        "queues": [limit.queue for limit in limits],
        "tasks": [limit.task for limit in limits],
        "keyed_by": [limit.keyed_by for limit in limits],
        "max_concurrent": [limit.max_concurrent for limit in limits],
        "rates": [limit.rate for limit in limits],
        "periods_ms": [limit.period_ms for limit in limits],
        "created_at": [limit.created_at for limit in limits],
    }
