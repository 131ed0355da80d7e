"""Records of durable tasks: each is written under a locked lease, and the first one under a name stays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Raw

from drumline.core.clock import Instant
from drumline.core.durable import NewRecord, Record, RecordKind, RecordStatus, WaitKind, WaitView
from drumline.core.errors import Fenced, QuotaExceeded
from drumline.core.event import Fact
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.ports.durable import DEFAULT_RECORD_LIMITS, Recorded, RecordLimits
from drumline.stores.driver import Line, Part, Transaction, tell_facts

NOT_CURRENT: Final = "the lease is not the task's current one"

Named = tuple[str, str]
"""A record's name and key."""


class LockedTask(NamedTuple):
    """A running task whose lease is locked; the order is that of `lock_lease`."""

    lane: int
    records: int
    size: int
    now: Instant


class RecordWriting(Part):
    """Writes records of tasks that run, and reads what a running task has and waits for."""

    async def record(
        self, records: Sequence[NewRecord], *, limits: RecordLimits = DEFAULT_RECORD_LIMITS
    ) -> list[Recorded]:
        """Write records of current leases; a record under one name stays as it was."""

        async def write(transaction: Transaction) -> list[Recorded]:
            return [await self._record_one(transaction, each, limits) for each in records]

        return await self._database.transact(Line.SETTLE, write, repeat=True)

    async def _record_one(self, transaction: Transaction, new: NewRecord, limits: RecordLimits) -> Recorded:
        held = await self._locked(transaction, new.lease)
        if held is None:
            return Fenced(NOT_CURRENT)
        old = (await self._found(transaction, new.lease.task, [(new.name, new.key)])).get((new.name, new.key))
        if old is not None and not _replaces(new, old):
            return old
        if (error := too_much(limits, held, is_new=old is None, size=len(new.value))) is not None:
            return error
        record = Record(
            name=new.name,
            key=new.key,
            status=new.status,
            value=new.value,
            seq=held.records + 1 if old is None else old.seq,
            tries=new.tries,
            started_at=Instant(held.now - new.took_ms),
            at=held.now,
            due_at=Instant(held.now + new.delay_ms) if new.status is RecordStatus.TRIED else None,
        )
        await self.write(transaction, new.lease, held, record, is_new=old is None)
        return record

    async def write(
        self, transaction: Transaction, lease: Lease, held: LockedTask, record: Record, *, is_new: bool
    ) -> None:
        """Write a record of a task whose live row is locked, count it, and tell of it."""
        values: dict[str, Any] = {
            "id": lease.task, "started_at": record.started_at, "at": record.at, "due_at": record.due_at,
            "epoch": lease.epoch, "tries": record.tries, "status": int(record.status), "name": record.name,
            "key": record.key, "value": bytes(record.value),
        }  # fmt: skip
        if is_new:
            await transaction.fetch("insert_record", seq=record.seq, kind=int(record.kind), **values)
        else:
            await transaction.fetch("try_again", **values)
        await transaction.fetch(
            "count_records",
            id=lease.task,
            count=int(is_new),
            bytes=len(record.value),
            is_progress=record.status is not RecordStatus.TRIED,
        )
        lanes = await self._lanes.lanes([held.lane], transaction)
        await tell_facts(transaction, [_recorded(lease.task, lanes[held.lane].tenant, record)], now=self._now())

    async def _locked(self, transaction: Transaction, lease: Lease) -> LockedTask | None:
        rows = await transaction.fetch(
            "lock_lease", id=lease.task, epoch=lease.epoch, nonce=lease.nonce, now=self._now()
        )
        return LockedTask(*rows[0]) if rows else None

    async def _found(self, transaction: Transaction, task: TaskId, named: Sequence[Named]) -> dict[Named, Record]:
        rows = await transaction.fetch(
            "find_records", id=task, names=[name for name, _ in named], keys=[key for _, key in named]
        )
        return {(record.name, record.key): record for record in map(record_of, rows)}

    async def _waits(self, transaction: Transaction, task: TaskId) -> Mapping[Named, WaitView]:
        views = [wait_view(row) for row in await transaction.fetch("waits_of", id=task)]
        return {(view.name, view.key): view for view in views}


def record_of(row: Iterable[Any]) -> Record:
    """Return a record from its row; the order is that of `find_records`."""
    name, key, kind, status, value, seq, tries, started_at, at, due_at = row
    return Record(
        name=name, key=key, kind=RecordKind(kind), status=RecordStatus(status), value=Raw(value), seq=seq, tries=tries,
        started_at=started_at, at=at, due_at=due_at,
    )  # fmt: skip


def wait_view(row: Iterable[Any]) -> WaitView:
    """Return what a task waits for from its row; the order is that of `waits_of`."""
    name, key, kind, since, deadline, reason, epoch, schema, pending = row
    return WaitView(
        kind=WaitKind(kind), name=name, key=key, since=since, until=deadline, reason=reason, epoch=epoch,
        schema=schema, pending=pending,
    )  # fmt: skip


def too_much(limits: RecordLimits, held: LockedTask, *, is_new: bool, size: int) -> QuotaExceeded | None:
    """Return the error of a record that its task has no room for, naming the bound."""
    if held.records + is_new > limits.records:
        return QuotaExceeded(
            f"the task has {limits.records:,} records, as many as it may have (limits.records)", field="records"
        )
    if held.size + size > limits.size:
        return QuotaExceeded(
            f"the records of the task would have more than {limits.size:,} bytes (limits.record_bytes)",
            field="record_bytes",
        )
    return None


def _replaces(new: NewRecord, old: Record) -> bool:
    """Tell whether a report changes what is there: only the tries of a step that has not ended."""
    if old.status is not RecordStatus.TRIED:
        return False
    return new.status is not RecordStatus.TRIED or new.tries > old.tries


def _recorded(task: TaskId, tenant: str, record: Record) -> Fact:
    data = {
        "name": record.name, "key": record.key, "kind": record.kind.word, "status": record.status.word,
        "tries": record.tries,
    }  # fmt: skip
    return Fact("drumline.task.recorded", task, tenant, data)
