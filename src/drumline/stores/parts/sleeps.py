"""Many attempts that sleep: answered, or ended, by a few statements for all of them.

Only what every sleep has in common is done here: one wait for a time, of a task without a job and without relatives,
under a current lease. Whatever is not like that is left to `DurableTasks.wait`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from drumline.core.clock import NEVER, Instant
from drumline.core.durable import (
    NOTHING,
    Answered,
    Record,
    RecordKind,
    RecordStatus,
    Wait,
    WaitKind,
    WaitRequest,
)
from drumline.core.event import Fact
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import Act
from drumline.ports.durable import RecordLimits, Waited
from drumline.ports.execution import Settled, Settlement
from drumline.stores.driver import Transaction, storable, tell_facts

SettleAll = Callable[[Transaction, Sequence[Settlement]], Awaitable[Mapping[Lease, Settled]]]
"""Settles attempts of locked tasks without jobs and relatives; of those that are not current it says nothing."""
Tenants = Callable[[Iterable[int]], Awaitable[Mapping[int, str]]]
"""Returns the tenants of lanes."""


class Sleeper(NamedTuple):
    """A task whose lease is locked, and its one wait."""

    lease: Lease
    wait: Wait
    lane: int
    records: int
    size: int
    now: Instant
    since: Instant
    deadline: Instant

    @property
    def is_over(self) -> bool:
        """Whether its time has come."""
        return self.deadline <= self.now


def sleeps_only(request: WaitRequest) -> bool:
    """Tell whether an attempt waits for one time and for nothing else."""
    return len(request.waits) == 1 and request.waits[0].kind is WaitKind.SLEEP


def in_parts(requests: Iterable[WaitRequest]) -> list[dict[TaskId, WaitRequest]]:
    """Return requests by task, so that no part has a task twice."""
    parts: list[dict[TaskId, WaitRequest]] = []
    for request in requests:
        task = request.lease.task
        part = next((each for each in parts if task not in each), None)
        if part is None:
            parts.append({task: request})
        else:
            part[task] = request
    return parts


async def find_sleepers(
    transaction: Transaction, requests: Mapping[TaskId, WaitRequest], *, now: Instant | None
) -> list[Sleeper]:
    """Lock the leases of tasks that are locked; return those that are current and whose sleep is not recorded."""
    leases = [requests[task].lease for task in sorted(requests)]
    rows = await transaction.fetch(
        "lock_running",
        ids=[lease.task for lease in leases],
        epochs=[lease.epoch for lease in leases],
        nonces=[lease.nonce for lease in leases],
        now=now,
    )
    held = {TaskId(str(id_)): columns for id_, *columns in rows}
    if not held:
        return []
    waits = {task: requests[task].waits[0] for task in held}
    named = {
        "ids": list(held),
        "names": [wait.name for wait in waits.values()],
        "keys": [wait.key for wait in waits.values()],
    }
    recorded = {str(task) for (task,) in await transaction.fetch("recorded_of", **named)}
    kept = {str(task): (since, until) for task, since, until in await transaction.fetch("kept_waits", **named)}
    found = []
    for task, (lane, records, size, time) in held.items():
        since, deadline = kept.get(task) or (time, _deadline(waits[task], time))
        if task not in recorded:
            until = NEVER if deadline is None else Instant(deadline)
            found.append(Sleeper(requests[task].lease, waits[task], lane, records, size, time, since, until))
    return found


async def end_sleeps(
    transaction: Transaction, over: Sequence[Sleeper], limits: RecordLimits, tenants: Tenants, *, now: Instant | None
) -> dict[Lease, Waited]:
    """Record that sleeps are over; one whose task has no room for a record is left out."""
    size = len(NOTHING)
    over = [each for each in over if each.records < limits.records and each.size + size <= limits.size]
    if not over:
        return {}
    ids = [each.lease.task for each in over]
    named = {"names": [each.wait.name for each in over], "keys": [each.wait.key for each in over]}
    await transaction.fetch(
        "insert_sleeps",
        ids=ids,
        since=[each.since for each in over],
        at=[each.now for each in over],
        seqs=[each.records + 1 for each in over],
        epochs=[each.lease.epoch for each in over],
        values=[bytes(NOTHING)] * len(over),
        **named,
    )
    await transaction.fetch("count_sleeps", ids=ids, bytes=size)
    await transaction.fetch("drop_sleeps", ids=ids, **named)
    whose = await tenants({each.lane for each in over})
    await tell_facts(transaction, [_recorded(each, whose[each.lane]) for each in over], now=now)
    return {each.lease: Answered(((0, _record(each)),)) for each in over}


async def begin_sleeps(
    transaction: Transaction, sleepers: Sequence[Sleeper], settle_all: SettleAll
) -> dict[Lease, Waited]:
    """Keep until when tasks sleep, and end their attempts."""
    if not sleepers:
        return {}
    ids = [each.lease.task for each in sleepers]
    await transaction.fetch("drop_passing_waits_of", ids=ids)
    await transaction.fetch(
        "put_sleeps",
        ids=ids,
        since=[each.since for each in sleepers],
        deadlines=[each.deadline for each in sleepers],
        epochs=[each.lease.epoch for each in sleepers],
        names=[each.wait.name for each in sleepers],
        keys=[each.wait.key for each in sleepers],
        reasons=[storable(each.wait.reason) for each in sleepers],
    )
    parks = [Settlement(lease=each.lease, act=Act.PARK, due_at=each.deadline) for each in sleepers]
    return dict(await settle_all(transaction, parks))


def _deadline(wait: Wait, now: int) -> int | None:
    if wait.until is not None:
        return wait.until
    return None if wait.delay_ms is None else now + wait.delay_ms


def _record(sleeper: Sleeper) -> Record:
    return Record(
        name=sleeper.wait.name,
        key=sleeper.wait.key,
        kind=RecordKind.SLEEP,
        status=RecordStatus.DONE,
        value=NOTHING,
        seq=sleeper.records + 1,
        started_at=sleeper.since,
        at=sleeper.now,
    )


def _recorded(sleeper: Sleeper, tenant: str) -> Fact:
    data = {
        "name": sleeper.wait.name, "key": sleeper.wait.key, "kind": RecordKind.SLEEP.word,
        "status": RecordStatus.DONE.word, "tries": 1,
    }  # fmt: skip
    return Fact("drumline.task.recorded", sleeper.lease.task, tenant, data)
