"""Signals by correlation between databases: registered, given, decided and settled (`ports.signal_exchange`)."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from random import getrandbits
from typing import Final

from msgspec import Raw

from drumline.core.clock import Clock, Instant
from drumline.core.codec import encode
from drumline.core.durable import Record, RecordKind, WaitKind
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.ports.changed import Changed
from drumline.ports.durable import DEFAULT_RECORD_LIMITS
from drumline.ports.signal_exchange import Answer, Decided, GivenSignal, KeyWait, SignalWatch
from drumline.stores.driver import Database, Lanes, Line, Part, Transaction
from drumline.stores.parts.durable import DurableTasks
from drumline.stores.parts.following import JobFollowing
from drumline.stores.parts.giving import SignalKey, give_in
from drumline.stores.parts.records import LockedTask, too_much
from drumline.stores.parts.signals import correlation_text

BELOW_ALL: Final = "00000000-0000-0000-0000-000000000000"
GIVEN: Final = "\x1f"
"""Begins the id under which a task keeps its answer to a signal that it was given: no sender can write it."""


class SignalExchange(Part):
    """`ports.signal_exchange.SignalExchange`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, following: JobFollowing, durable: DurableTasks
    ) -> None:
        super().__init__(database, clock, lanes)
        self._following = following
        self._durable = durable

    async def unregistered(self, *, number: int, limit: int, after: TaskId | None = None) -> list[KeyWait]:
        """Return waits of queued tasks of this store that are not registered by a map of this number."""
        rows = await self._database.fetch(
            Line.REQUEST, "unregistered_signal_waits", repeat=True, number=number, after=after or BELOW_ALL, limit=limit
        )
        return [
            KeyWait(task=TaskId(str(task)), tenant=tenant, name=name, key=key, version=version)
            for task, tenant, name, key, version in rows
        ]

    async def register(self, waits: Sequence[KeyWait]) -> None:
        """Let this store know of waits, and give what it has for them."""
        once = list({(wait.tenant, wait.name, wait.key, wait.task): wait for wait in waits}.values())

        async def write(transaction: Transaction) -> None:
            keys = sorted({(wait.tenant, wait.name, wait.key) for wait in once})
            await _lock(transaction, keys)
            ((now,),) = await transaction.fetch("now", now=self._now())
            await transaction.fetch(
                "put_signal_watches",
                at=now,
                tasks=[wait.task for wait in once],
                versions=[getrandbits(62) for _ in once],
                tenants=[wait.tenant for wait in once],
                names=[wait.name for wait in once],
                keys=[wait.key for wait in once],
            )
            for key in keys:
                await give_in(transaction, key)

        if once:
            await self._database.transact(Line.REQUEST, write, repeat=True)

    async def mark_registered(self, waits: Sequence[KeyWait], *, number: int) -> None:
        """Mark waits of this store; one whose registration was undone since stays unregistered."""
        if waits:
            await self._database.fetch(
                Line.REQUEST,
                "mark_signal_waits",
                repeat=True,
                number=number,
                tasks=[wait.task for wait in waits],
                names=[wait.name for wait in waits],
                keys=[wait.key for wait in waits],
                versions=[wait.version for wait in waits],
            )

    async def give_left(self, *, older_than_ms: int, limit: int) -> int:
        """Give signals that tasks of this store have left though it is their turn; return of how many keys."""
        before = Instant(await self._time() - older_than_ms)
        rows = await self._database.fetch(Line.REQUEST, "left_signals", repeat=True, before=before, limit=limit)

        async def give(transaction: Transaction, key: SignalKey) -> None:
            await _lock(transaction, [key])
            await give_in(transaction, key, also_here=True)

        for tenant, name, key in rows:
            await self._database.transact(Line.REQUEST, partial(give, key=(tenant, name, key)), repeat=True)
        return len(rows)

    async def given(self, *, limit: int, after: int = 0) -> list[GivenSignal]:
        """Return signals of this store whose tasks have to be told, in their order, above a number."""
        rows = await self._database.fetch(Line.REQUEST, "given_signals", repeat=True, after=after, limit=limit)
        return [
            GivenSignal(
                number=seq, no=no, watch=watch, task=TaskId(str(task)), tenant=tenant, name=name, key=key, id=id_,
                payload=Raw(payload),
            )
            for seq, no, watch, task, tenant, name, key, id_, payload in rows
        ]  # fmt: skip

    async def decide(self, given: Sequence[GivenSignal]) -> list[Decided]:
        """Let tasks of this store say whether they take signals; the same giving gets the same answer."""
        decided = [
            await self._database.transact(Line.REQUEST, partial(self._decide, given=each), repeat=True)
            for each in given
        ]
        await self._following.note_queued([changed for each in decided for changed in each.woken])
        return decided

    async def _decide(self, transaction: Transaction, given: GivenSignal) -> Decided:
        # The job, the task, its live row: as a park, which holds them from before it looks until it is committed.
        await self._following.lock_members(transaction, [given.task])
        if not await transaction.fetch("lock_tasks", ids=[given.task]):
            return Decided(Answer.UNKNOWN)
        await transaction.fetch("lock_live", ids=[given.task])
        id_ = GIVEN + sha256(encode([given.tenant, given.name, given.key, given.id])).hexdigest()
        known = await transaction.fetch("answer_to_given", task=given.task, id=id_)
        if known and (known[0][0] or known[0][1] >= given.no):
            return Decided(Answer.TAKEN if known[0][0] else Answer.REFUSED)
        ((now,),) = await transaction.fetch("now", now=self._now())
        woken = await self._take(transaction, given, now)
        await transaction.fetch(
            "keep_answer",
            task=given.task,
            at=now,
            taken_by=None if woken is None else given.task,
            tenant=given.tenant,
            name=given.name,
            id=id_,
            payload=b"null",
            no=given.no,
        )
        if woken is not None:
            return Decided(Answer.TAKEN, woken)
        await transaction.fetch("unregister_signal_wait", id=given.task, name=given.name, key=given.key)
        return Decided(Answer.REFUSED)

    async def _take(self, transaction: Transaction, given: GivenSignal, now: Instant) -> tuple[Changed, ...] | None:
        """Answer the wait of a locked task with a signal, and make the task due; None if it does not wait for it."""
        parked = await transaction.fetch("parked_task", id=given.task)
        waits = await transaction.fetch(
            "current_signal_wait", id=given.task, kind=int(WaitKind.SIGNAL), name=given.name, correlation=given.key
        )
        if not parked or not waits:
            return None
        ((lane, records, size, epoch),), ((key, since),) = parked, waits
        held = LockedTask(lane, records, size, now)
        if too_much(DEFAULT_RECORD_LIMITS, held, is_new=True, size=len(given.payload)) is not None:
            return None
        record = Record(
            name=given.name, key=key, kind=RecordKind.SIGNAL, value=given.payload, seq=records + 1, started_at=since,
            at=now,
        )  # fmt: skip
        woken = await self._durable.wake_in(transaction, [given.task], given.name, key=given.key, now=now)
        await self._durable.write(transaction, Lease(task=given.task, epoch=epoch, nonce=0), held, record, is_new=True)
        await transaction.fetch("drop_wait", id=given.task, name=given.name, key=key)
        return woken

    async def settle(self, given: Sequence[GivenSignal], answers: Sequence[Answer]) -> tuple[Changed, ...]:
        """Note what tasks said to signals of this store: a refused one is given to the next. Return tasks that woke."""
        woken: list[Changed] = []
        for each, answer in zip(given, answers, strict=True):
            settle = partial(self._settle, given=each, is_taken=answer is Answer.TAKEN)
            woken += await self._database.transact(Line.REQUEST, settle, repeat=True)
        await self._following.note_queued(woken)
        return tuple(woken)

    async def _settle(self, transaction: Transaction, given: GivenSignal, *, is_taken: bool) -> tuple[Changed, ...]:
        tenant, name, key = given.tenant, given.name, given.key
        await _lock(transaction, [(tenant, name, key)])
        ((now,),) = await transaction.fetch("now", now=self._now())
        woken: tuple[Changed, ...] = ()
        named = {"tenant": tenant, "name": name, "key": key}
        await transaction.fetch("drop_signal_watch", **named, task=given.task, version=given.watch)
        if is_taken:
            await transaction.fetch("given_was_taken", seq=given.number, key=key, no=given.no, at=now)
        elif await transaction.fetch("given_was_refused", seq=given.number, key=key, no=given.no):
            tasks = sorted(str(task) for (task,) in await transaction.fetch("waiting_by_key", **named))
            if tasks:
                await transaction.fetch("lock_tasks", ids=tasks)
            woken = await self._durable.wake_in(transaction, tasks, name, key=key, now=now)
        await give_in(transaction, (tenant, name, key))
        return woken

    async def watches(self, *, older_than_ms: int, limit: int, after: int = 0) -> list[SignalWatch]:
        """Return registrations of some age, in their order, above a number."""
        before = Instant(await self._time() - older_than_ms)
        rows = await self._database.fetch(
            Line.BROAD, "signal_watches", repeat=True, before=before, after=after, limit=limit
        )
        return [
            SignalWatch(number=seq, task=TaskId(str(task)), version=version, tenant=tenant, name=name, key=key)
            for seq, task, version, tenant, name, key in rows
        ]

    async def waiting(self, watches: Sequence[SignalWatch]) -> list[bool]:
        """Tell which tasks of this store still wait for what they are registered for."""
        rows = await self._database.fetch(
            Line.BROAD,
            "watched_waits",
            repeat=True,
            tasks=[watch.task for watch in watches],
            names=[watch.name for watch in watches],
            keys=[watch.key for watch in watches],
        )
        found = {(str(task), name, key) for task, name, key in rows}
        return [(watch.task, watch.name, watch.key) in found for watch in watches]

    async def drop(self, watches: Sequence[SignalWatch]) -> None:
        """Forget registrations in this store, but for those that were made anew."""

        async def drop(transaction: Transaction) -> None:
            for watch in watches:
                await transaction.fetch(
                    "drop_signal_watch", tenant=watch.tenant, name=watch.name, key=watch.key, task=watch.task,
                    version=watch.version,
                )  # fmt: skip

        if watches:
            await self._database.transact(Line.REQUEST, drop, repeat=True)


async def _lock(transaction: Transaction, keys: Sequence[SignalKey]) -> None:
    await transaction.fetch("lock_correlations", keys=sorted(correlation_text(*key) for key in keys))
