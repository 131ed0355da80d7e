"""Records of durable tasks, and what they wait for."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec import Raw

from drumline.core.attempt import AttemptOutcome, state_after
from drumline.core.clock import NEVER, Clock, Instant
from drumline.core.codec import encode
from drumline.core.durable import (
    NO_RECORDS,
    NOTHING,
    RECORD_OF,
    Answered,
    NewRecord,
    NewSignal,
    Record,
    RecordKind,
    RecordPage,
    RecordStatus,
    StepsView,
    Wait,
    WaitKind,
    WaitRequest,
    WaitView,
)
from drumline.core.errors import Conflict, Fenced, KeyReused, NotFound, QuotaExceeded
from drumline.core.event import Fact
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.core.task import DEFAULT_TENANT
from drumline.ports.changed import Changed
from drumline.ports.durable import (
    DEFAULT_RECORD_LIMITS,
    MOST_SIGNALS,
    PAGE_BYTES,
    Recorded,
    RecordLimits,
    Signalled,
    Waited,
)
from drumline.ports.execution import Settled, Settlement
from drumline.ports.hint import Hint
from drumline.stores.driver import Database, Lanes, Line, Part, TaskEvent, Transaction, storable, tell_facts
from drumline.stores.parts.following import JobFollowing, Members

NOT_CURRENT: Final = "the lease is not the task's current one"
MOST_IN_PAGE: Final = 1000

SettleIn = Callable[[Transaction, Settlement, Members | None], Awaitable[Settled | None]]
"""Settles one attempt in a transaction that has locked its task, and the job of that; None if it is not current."""
Named = tuple[str, str]
"""A record's name and key."""


class LockedTask(NamedTuple):
    """A running task whose lease is locked; the order is that of `lock_lease`."""

    lane: int
    records: int
    size: int
    now: Instant


class DurableTasks(Part):
    """`ports.durable.DurableTasks`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, following: JobFollowing, settle_in: SettleIn
    ) -> None:
        super().__init__(database, clock, lanes)
        self._following = following
        self._settle_in = settle_in

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
        await self._write(transaction, new.lease, held, record, is_new=old is None)
        return record

    async def wait(self, request: WaitRequest, *, limits: RecordLimits = DEFAULT_RECORD_LIMITS) -> Waited:
        """Answer what an attempt waits for, or else end the attempt until there may be an answer."""

        async def act(transaction: Transaction) -> Waited:
            # The correlations, the job, the task, its live row: the order of all who lock them. What is looked at comes
            # after it, in statements that see all that these have waited for.
            if any(wait.correlation is not None for wait in request.waits):
                await self._lock_correlations(transaction, request)
            members = await self._following.lock_members(transaction, [request.lease.task])
            await transaction.fetch("lock_tasks", ids=[request.lease.task])
            held = await self._locked(transaction, request.lease)
            if held is None:
                return await self._settled_before(transaction, request.lease)
            answered = await self._answer(transaction, request, held, limits)
            if isinstance(answered, QuotaExceeded) or answered.answers:
                return answered
            return await self._park(transaction, request, held, members)

        return await self._database.transact(Line.SETTLE, act, repeat=True)

    async def _answer(
        self, transaction: Transaction, request: WaitRequest, held: LockedTask, limits: RecordLimits
    ) -> Answered | QuotaExceeded:
        """Answer those waits that can be answered now."""
        task = request.lease.task
        known = await self._found(transaction, task, [(wait.name, wait.key) for wait in request.waits])
        rows = await self._waits(transaction, task)
        answers: list[tuple[int, Record | None]] = []
        for place, wait in enumerate(request.waits):
            named = wait.name, wait.key
            record = known.get(named)
            if record is not None and wait.kind in RECORD_OF:
                answers.append((place, record))  # the answer to this was lost
                continue
            deadline = rows[named].until if named in rows else first_deadline(wait, held.now)
            since = rows[named].since if named in rows else held.now
            record = await self._due_record(transaction, task, wait, held, since=since, deadline=deadline)
            if record is None:
                continue
            if wait.kind not in RECORD_OF:
                await transaction.fetch("drop_wait", id=task, name=wait.name, key=wait.key)
                answers.append((place, None))
                continue
            if (error := too_much(limits, held, is_new=True, size=len(record.value))) is not None:
                return error
            await self._write(transaction, request.lease, held, record, is_new=True)
            await transaction.fetch("drop_wait", id=task, name=wait.name, key=wait.key)
            held = held._replace(records=held.records + 1, size=held.size + len(record.value))
            answers.append((place, record))
        return Answered(tuple(answers))

    async def _due_record(
        self,
        transaction: Transaction,
        task: TaskId,
        wait: Wait,
        held: LockedTask,
        *,
        since: Instant,
        deadline: Instant | None,
    ) -> Record | None:
        """Return what a wait is answered with, if it can be answered: a signal goes before the end of its time."""
        payload = await self._take_signal(transaction, task, wait, held) if wait.kind is WaitKind.SIGNAL else None
        if payload is None and (deadline is None or deadline > held.now):
            return None
        return Record(
            name=wait.name,
            key=wait.key,
            kind=RECORD_OF.get(wait.kind, RecordKind.STEP),
            status=RecordStatus.TIMED_OUT if wait.kind is WaitKind.SIGNAL and payload is None else RecordStatus.DONE,
            value=payload or NOTHING,
            seq=held.records + 1,
            started_at=since,
            at=held.now,
        )

    async def _take_signal(self, transaction: Transaction, task: TaskId, wait: Wait, held: LockedTask) -> Raw | None:
        """Take the first signal that a wait may take; None if there is none."""
        lanes = await self._lanes.lanes([held.lane], transaction)
        rows = await transaction.fetch(
            "next_signal",
            task=task,
            tenant=lanes[held.lane].tenant,
            name=wait.name,
            correlation=wait.correlation,
        )
        if not rows:
            return None
        ((seq, payload),) = rows
        await transaction.fetch("take_signal", seq=seq, task=task, at=held.now)
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

    async def signal(self, signal: NewSignal) -> Signalled | NotFound | Conflict | KeyReused | QuotaExceeded:
        """Keep a signal, and make every queued task due that waits for it."""
        act = partial(self._signal_task if signal.task is not None else self._signal_by_key, signal=signal)
        answer = await self._database.transact(Line.REQUEST, act, repeat=True)
        if isinstance(answer, Signalled):
            await self._following.note_queued(answer.woken)
        return answer

    async def _signal_task(
        self, transaction: Transaction, signal: NewSignal
    ) -> Signalled | NotFound | Conflict | KeyReused | QuotaExceeded:
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

    async def _signal_by_key(
        self, transaction: Transaction, signal: NewSignal
    ) -> Signalled | NotFound | Conflict | KeyReused | QuotaExceeded:
        tenant = signal.tenant or DEFAULT_TENANT
        await transaction.fetch("lock_correlations", keys=[correlation_text(tenant, signal.name, signal.key)])
        known = await transaction.fetch(
            "find_signal_by_key", tenant=tenant, name=signal.name, key=signal.key, id=signal.id
        )
        if known:
            return _known(signal, known[0])
        rows = await transaction.fetch("waiting_by_key", tenant=tenant, name=signal.name, key=signal.key)
        tasks = sorted(str(task) for (task,) in rows)
        if tasks:
            await transaction.fetch("lock_tasks", ids=tasks)
        return await self._keep(transaction, signal, tenant, tasks, key=signal.key)

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
        rows = await transaction.fetch("wake", ids=tasks, now=now, kind=int(WaitKind.SIGNAL), name=signal.name, key=key)
        lanes = await self._lanes.lanes({lane for _, lane, _, _ in rows}, transaction)
        woken = tuple(
            Changed(TaskId(str(task)), State.QUEUED, Hint(TaskId(str(task)), lanes[lane], Instant(due_at)), epoch=epoch)
            for task, lane, due_at, epoch in sorted(rows, key=lambda row: str(row[0]))
        )
        events = [TaskEvent(each.task, Act.WAKE, State.QUEUED, each.epoch) for each in woken]
        await transaction.tell(events, now=self._now())
        await tell_facts(transaction, [_received(signal, tenant)], now=self._now())
        return Signalled(created=True, woken=woken)

    async def _park(
        self, transaction: Transaction, request: WaitRequest, held: LockedTask, members: Members | None
    ) -> Waited:
        """Keep what an attempt waits for, and end it: the task is due when the first of that is over."""
        task, now = request.lease.task, held.now
        await transaction.fetch("drop_passing_waits", id=task)
        waits = request.waits
        lanes = await self._lanes.lanes([held.lane], transaction)
        await transaction.fetch(
            "put_waits",
            id=task,
            since=now,
            epoch=request.lease.epoch,
            deadlines=[first_deadline(wait, now) for wait in waits],
            kinds=[int(wait.kind) for wait in waits],
            names=[wait.name for wait in waits],
            keys=[wait.key for wait in waits],
            reasons=[storable(wait.reason) for wait in waits],
            tenant=lanes[held.lane].tenant,
            correlations=[wait.correlation for wait in waits],
        )
        rows = await self._waits(transaction, task)
        deadlines = [rows[wait.name, wait.key].until for wait in waits]
        due_at = min((deadline for deadline in deadlines if deadline is not None), default=NEVER)
        settled = await self._settle_in(
            transaction, Settlement(lease=request.lease, act=Act.PARK, due_at=due_at), members
        )
        return Fenced(NOT_CURRENT) if settled is None else settled

    async def _settled_before(self, transaction: Transaction, lease: Lease) -> Settled | Fenced:
        rows = await transaction.fetch("settled_attempt", id=lease.task, epoch=lease.epoch, nonce=lease.nonce)
        return Settled(state_after(AttemptOutcome(rows[0][0]))) if rows else Fenced(NOT_CURRENT)

    async def pages(self, tasks: Sequence[tuple[TaskId, int]]) -> list[RecordPage]:
        """Return the records of tasks after a place each, all together about `PAGE_BYTES`."""
        rows = await self._database.fetch(
            Line.CLAIM,
            "record_pages",
            repeat=True,
            ids=[task for task, _ in tasks],
            after=[after for _, after in tasks],
            limit=MOST_IN_PAGE,
            most=PAGE_BYTES,
        )
        found: dict[TaskId, list[Record]] = {}
        last: dict[TaskId, int] = {}
        for id_, *columns, newest in rows:
            task = TaskId(str(id_))
            found.setdefault(task, []).append(record_of(columns))
            last[task] = newest
        if len(tasks) == 1 and not rows:
            return [NO_RECORDS]
        return [
            RecordPage(tuple(found[task]), found[task][-1].seq < last[task])
            if task in found
            else RecordPage((), has_more=True)
            for task, _ in tasks
        ]

    async def steps(self, task: TaskId, *, after: int, limit: int, tenant: str | None = None) -> StepsView | NotFound:
        """Return the records of a task after a place, in their order, and what it waits for."""
        fetch = self._database.fetch
        if not await fetch(Line.REQUEST, "whose_task", repeat=True, within=tenant, id=task, tenant=tenant):
            return NotFound(f"there is no task {task}", field="id")
        rows = await fetch(
            Line.REQUEST, "record_pages", repeat=True, within=tenant, ids=[task], after=[after], limit=limit,
            most=4 * PAGE_BYTES,
        )  # fmt: skip
        records = tuple(record_of(columns) for _, *columns, _ in rows)
        has_more = bool(records) and records[-1].seq < rows[-1][-1]
        waits = await fetch(Line.REQUEST, "waits_of", repeat=True, within=tenant, id=task)
        return StepsView(task=task, page=RecordPage(records, has_more), waits=last_waits(waits))

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

    async def _write(
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


def record_of(row: Iterable[Any]) -> Record:
    """Return a record from its row; the order is that of `find_records`."""
    name, key, kind, status, value, seq, tries, started_at, at, due_at = row
    return Record(
        name=name, key=key, kind=RecordKind(kind), status=RecordStatus(status), value=Raw(value), seq=seq, tries=tries,
        started_at=started_at, at=at, due_at=due_at,
    )  # fmt: skip


def wait_view(row: Iterable[Any]) -> WaitView:
    """Return what a task waits for from its row; the order is that of `waits_of`."""
    name, key, kind, since, deadline, reason, epoch = row
    return WaitView(kind=WaitKind(kind), name=name, key=key, since=since, until=deadline, reason=reason, epoch=epoch)


def last_waits(rows: Iterable[Iterable[Any]]) -> tuple[WaitView, ...]:
    """Return what the last attempt waited for; others are kept for their deadlines."""
    views = [wait_view(row) for row in rows]
    last = max((view.epoch for view in views), default=0)
    return tuple(view for view in views if view.epoch == last)


def first_deadline(wait: Wait, now: Instant) -> Instant | None:
    """Return until when something is waited for that was not waited for before."""
    if wait.until is not None:
        return wait.until
    return None if wait.delay_ms is None else Instant(now + wait.delay_ms)


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


def _recorded(task: TaskId, tenant: str, record: Record) -> Fact:
    data = {
        "name": record.name, "key": record.key, "kind": record.kind.word, "status": record.status.word,
        "tries": record.tries,
    }  # fmt: skip
    return Fact("drumline.task.recorded", task, tenant, data)
