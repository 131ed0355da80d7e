"""Signals: kept for a task, or by a key for whichever task takes them first, and taken by waits."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import Raw

from drumline.core.clock import Clock, Instant
from drumline.core.codec import encode
from drumline.core.durable import NewSignal, Wait, WaitKind, WaitRequest
from drumline.core.errors import Conflict, KeyReused, NotFound, QuotaExceeded
from drumline.core.event import Fact
from drumline.core.ids import TaskId
from drumline.core.slots import slot_of_signal
from drumline.core.state import Act, State
from drumline.core.task import DEFAULT_TENANT
from drumline.ports.changed import Changed
from drumline.ports.durable import MOST_SIGNALS, SignalAnswer, Signalled
from drumline.ports.hint import Hint
from drumline.stores.driver import Database, Lanes, Line, TaskEvent, Transaction, tell_facts
from drumline.stores.parts.following import JobFollowing
from drumline.stores.parts.giving import give_in
from drumline.stores.parts.records import LockedTask, RecordWriting


class SignalKeeping(RecordWriting):
    """Keeps signals, wakes tasks that wait for them, and lets waits take them."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes, following: JobFollowing) -> None:
        super().__init__(database, clock, lanes)
        self._following = following

    async def signal(self, signal: NewSignal) -> SignalAnswer:
        """Keep a signal, and make every queued task due that waits for it."""
        act = partial(self._signal_task if signal.task is not None else self._signal_by_key, signal=signal)
        answer = await self._database.transact(Line.REQUEST, act, repeat=True)
        if isinstance(answer, Signalled):
            await self._following.note_queued(answer.woken)
        return answer

    async def known_signal(self, signal: NewSignal) -> Signalled | KeyReused | None:
        """Return the answer for a signal by correlation that is kept already, by its id; None if it is not."""
        rows = await self._database.fetch(
            Line.REQUEST, "find_signal_by_key", repeat=True, tenant=signal.tenant or DEFAULT_TENANT, name=signal.name,
            key=signal.key, id=signal.id,
        )  # fmt: skip
        return _known(signal, rows[0]) if rows else None

    async def _signal_task(self, transaction: Transaction, signal: NewSignal) -> SignalAnswer:
        # The task's own row: a park holds it too, from before it looks until it is committed.
        await transaction.fetch("lock_tasks", ids=[signal.task])
        await transaction.fetch("lock_live", ids=[signal.task])
        rows = await transaction.fetch("signal_target", id=signal.task)
        if not rows or (signal.tenant is not None and rows[0][0] != signal.tenant):
            return NotFound(f"there is no task {signal.task}", field="id")
        ((tenant, is_live),) = rows
        known = await transaction.fetch("find_signal", task=signal.task, id=signal.id)
        if known:
            return _known(signal, known[0])
        if not is_live:
            return Conflict("the task has ended; it takes no signals any more")
        return await self._keep(transaction, signal, tenant, [str(signal.task)], key=None)

    async def _signal_by_key(self, transaction: Transaction, signal: NewSignal) -> SignalAnswer:
        tenant = signal.tenant or DEFAULT_TENANT
        await transaction.fetch("lock_correlations", keys=[correlation_text(tenant, signal.name, signal.key)])
        known = await transaction.fetch(
            "find_signal_by_key", tenant=tenant, name=signal.name, key=signal.key, id=signal.id
        )
        if known:
            return _known(signal, known[0])
        await self._fence(transaction, slot_of_signal(tenant, signal.name, signal.key), signal.slot_version)
        rows = await transaction.fetch("waiting_by_key", tenant=tenant, name=signal.name, key=signal.key)
        tasks = sorted(str(task) for (task,) in rows)
        if tasks:
            await transaction.fetch("lock_tasks", ids=tasks)
        kept = await self._keep(transaction, signal, tenant, tasks, key=signal.key)
        if isinstance(kept, Signalled):
            await give_in(transaction, (tenant, signal.name, signal.key))
        return kept

    async def _fence(self, transaction: Transaction, slot: int, version: int) -> None:
        """Let nothing be kept whose slot is not open in this database; a lone one has all of them."""

    async def _keep(
        self, transaction: Transaction, signal: NewSignal, tenant: str, tasks: Sequence[str], *, key: str | None
    ) -> Signalled | QuotaExceeded:
        """Write a signal, and make those of some locked tasks due that wait for it."""
        named: dict[str, Any] = {
            "task": signal.task, "tenant": tenant, "name": signal.name, "key": signal.key,
        }  # fmt: skip
        ((count,),) = await transaction.fetch("count_untaken", **named)
        if count >= MOST_SIGNALS:
            return QuotaExceeded(f"{MOST_SIGNALS:,} signals wait to be taken, as many as may", field="signal")
        ((now,),) = await transaction.fetch("now", now=self._now())
        await transaction.fetch("insert_signal", **named, at=now, id=signal.id, payload=bytes(signal.payload))
        woken = await self.wake_in(transaction, tasks, signal.name, key=key, now=now)
        await tell_facts(transaction, [_received(signal, tenant)], now=self._now())
        return Signalled(created=True, woken=woken)

    async def wake_in(
        self, transaction: Transaction, tasks: Sequence[str], name: str, *, key: str | None, now: Instant
    ) -> tuple[Changed, ...]:
        """Make those of some locked tasks due that wait for a signal, and tell of it."""
        rows = await transaction.fetch("wake", ids=tasks, now=now, kind=int(WaitKind.SIGNAL), name=name, key=key)
        lanes = await self._lanes.lanes({lane for _, lane, _, _ in rows}, transaction)
        woken = tuple(
            Changed(TaskId(str(task)), State.QUEUED, Hint(TaskId(str(task)), lanes[lane], Instant(due_at)), epoch=epoch)
            for task, lane, due_at, epoch in sorted(rows, key=lambda row: str(row[0]))
        )
        events = [TaskEvent(each.task, Act.WAKE, State.QUEUED, each.epoch) for each in woken]
        await transaction.tell(events, now=self._now())
        return woken

    async def _take_signal(self, transaction: Transaction, task: TaskId, wait: Wait, held: LockedTask) -> Raw | None:
        """Take the first signal that a wait may take; None if there is none."""
        tenant = (await self._lanes.lanes([held.lane], transaction))[held.lane].tenant
        rows = await transaction.fetch(
            "next_signal", task=task, tenant=tenant, name=wait.name, correlation=wait.correlation
        )
        if not rows:
            return None
        ((seq, key, id_, payload),) = rows
        if key:
            await transaction.fetch("take_signal_by_key", seq=seq, key=key, task=task, at=held.now)
        else:
            await transaction.fetch("take_signal", task=task, id=id_, at=held.now)
        return Raw(payload)

    async def _lock_correlations(self, transaction: Transaction, request: WaitRequest) -> None:
        rows = await transaction.fetch("tenant_of", id=request.lease.task)
        tenant = rows[0][0] if rows else ""
        keys = {
            correlation_text(tenant, wait.name, wait.correlation)
            for wait in request.waits
            if wait.correlation is not None
        }
        await transaction.fetch("lock_correlations", keys=sorted(keys))


def correlation_text(tenant: str, name: str, key: str) -> str:
    """Return what is locked by those who signal or wait by a key."""
    return encode([tenant, name, key]).decode()


def _known(signal: NewSignal, row: Sequence[Any]) -> Signalled | KeyReused:
    """Return the answer to a signal whose id is known: the same, or another under its id."""
    name, payload, _ = row
    if name == signal.name and bytes(payload) == bytes(signal.payload):
        return Signalled(created=False)
    return KeyReused("belongs to an earlier signal with another name or payload", field="id")


def _received(signal: NewSignal, tenant: str) -> Fact:
    if signal.task is not None:
        return Fact("drumline.task.signalled", signal.task, tenant, {"name": signal.name, "id": signal.id})
    data = {"name": signal.name, "key": signal.key, "id": signal.id}
    return Fact("drumline.signal.received", signal.key, tenant, data)
