"""Records of durable tasks on PostgreSQL: one statement locks the leases of a batch and writes its records.

Signals by correlation are behind the fence of slots.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Raw

from drumline.core.clock import NEVER
from drumline.core.durable import NewRecord, NewSignal, Record, RecordKind, RecordStatus
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.ports.durable import DEFAULT_RECORD_LIMITS, Recorded, RecordLimits, SignalAnswer
from drumline.stores.driver import Line, Transaction
from drumline.stores.parts.durable import DurableTasks
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.submitting import MOVED

Name = tuple[Lease, str, str]
"""Under which lease, name and key something is recorded."""


class PostgresDurableTasks(DurableTasks):
    """`DurableTasks` with its hot half."""

    async def record(
        self, records: Sequence[NewRecord], *, limits: RecordLimits = DEFAULT_RECORD_LIMITS
    ) -> list[Recorded]:
        """Write records of current leases; a record under one name stays as it was."""
        written: dict[Name, Recorded] = {}
        for part in _rounds(records):
            written |= await self._record_at_once(part, limits)
        left = [new for new in records if _name(new) not in written]
        if left:
            written |= await self._explained(left, limits)
        return [written[_name(new)] for new in records]

    async def signal(self, signal: NewSignal) -> SignalAnswer:
        """Keep a signal; one with a key is refused if this database takes no new work of its slot."""
        try:
            return await super().signal(signal)
        except SlotClosed:
            return MOVED

    async def _fence(self, transaction: Transaction, slot: int, version: int) -> None:
        await transaction.fetch("fence", slots=[slot], versions=[version], oldest=[NEVER])

    async def _record_at_once(self, records: Sequence[NewRecord], limits: RecordLimits) -> dict[Name, Recorded]:
        """Write records, each name and each task's lease once; return what was written."""
        leases = sorted({new.lease for new in records}, key=lambda lease: lease.task)
        rows = await self._database.fetch(
            Line.SETTLE,
            "record_steps",
            repeat=True,
            ids=[lease.task for lease in leases],
            epochs=[lease.epoch for lease in leases],
            nonces=[lease.nonce for lease in leases],
            tasks=[new.lease.task for new in records],
            names=[new.name for new in records],
            keys=[new.key for new in records],
            statuses=[int(new.status) for new in records],
            tries=[new.tries for new in records],
            took=[new.took_ms for new in records],
            delays=[new.delay_ms for new in records],
            values=[bytes(new.value) for new in records],
            most=limits.records,
            most_bytes=limits.size,
            now=self._now(),
        )
        by_name = {(new.lease.task, new.name, new.key): new for new in records}
        written: dict[Name, Recorded] = {}
        for task, name, key, kind, status, seq, tries, started_at, at, due_at in rows:
            new = by_name[TaskId(str(task)), name, key]
            written[_name(new)] = Record(
                name=name, key=key, kind=RecordKind(kind), status=RecordStatus(status), value=Raw(bytes(new.value)),
                seq=seq, tries=tries, started_at=started_at, at=at, due_at=due_at,
            )  # fmt: skip
        return written

    async def _explained(self, records: Sequence[NewRecord], limits: RecordLimits) -> dict[Name, Recorded]:
        """Return why records were not written: another was there first, there is no room, or the lease is over.

        Each is tried by itself: the records of a task that are too much together may be written one by one, up to the
        first that there is no room for, and a failed try that is there already is no answer to the next one.
        """
        in_order = sorted(records, key=lambda new: new.lease.task)  # the order in which all lock live rows

        async def write(transaction: Transaction) -> dict[Name, Recorded]:
            return {_name(new): await self._record_one(transaction, new, limits) for new in in_order}

        return await self._database.transact(Line.SETTLE, write, repeat=True)


def _name(new: NewRecord) -> Name:
    return new.lease, new.name, new.key


def _rounds(records: Iterable[NewRecord]) -> list[list[NewRecord]]:
    """Split records so that no part has two leases of one task; of those under one name the first is left."""
    firsts: dict[Name, NewRecord] = {}
    for new in records:
        firsts.setdefault(_name(new), new)
    numbers: defaultdict[TaskId, dict[Lease, int]] = defaultdict(dict)
    rounds: defaultdict[int, list[NewRecord]] = defaultdict(list)
    for new in firsts.values():
        leases = numbers[new.lease.task]
        rounds[leases.setdefault(new.lease, len(leases))].append(new)
    return list(rounds.values())
