"""What durable tasks wait for: answered, or else the attempt ends until it can be."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from drumline.core.attempt import AttemptOutcome, state_after
from drumline.core.clock import NEVER, Clock, Instant
from drumline.core.durable import (
    CHILD_KINDS,
    NOTHING,
    RECORD_OF,
    Answered,
    Record,
    RecordKind,
    RecordStatus,
    RestartRequest,
    Wait,
    WaitKind,
    WaitRequest,
)
from drumline.core.errors import Conflict, Fenced, QuotaExceeded
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.ports.durable import DEFAULT_RECORD_LIMITS, RecordLimits, Restarted, Waited
from drumline.ports.execution import Settled, Settlement
from drumline.ports.hint import Hint
from drumline.stores.driver import Database, Lanes, Line, Transaction, storable
from drumline.stores.parts.child_waits import outcome_of, pending_of, wake_at
from drumline.stores.parts.following import JobFollowing, Members
from drumline.stores.parts.records import NOT_CURRENT, LockedTask, too_much
from drumline.stores.parts.rounds import end_round
from drumline.stores.parts.signals import SignalKeeping
from drumline.stores.parts.sleeps import begin_sleeps, end_sleeps, find_sleepers, in_parts, sleeps_only
from drumline.stores.parts.steps import StepReading

RESTART_IN_JOB: Final = "a task of a job cannot be restarted: other tasks of the job wait for its end"

SettleIn = Callable[[Transaction, Sequence[Settlement], Members | None], Awaitable[Mapping[Lease, Settled]]]
"""Settles attempts in a transaction that has locked their tasks, and the jobs of those; not those of other leases.

In one list all have jobs or relatives, or none.
"""


class DurableTasks(SignalKeeping, StepReading):
    """`ports.durable.DurableTasks`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, following: JobFollowing, settle_in: SettleIn
    ) -> None:
        super().__init__(database, clock, lanes, following)
        self._settle_all_in = settle_in

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

    async def restart(self, request: RestartRequest) -> Restarted:
        """End the round of a task: it is queued with another payload and without records."""

        async def act(transaction: Transaction) -> Restarted | None:
            lease = request.lease
            members = await self._following.lock_members(transaction, [lease.task])
            await transaction.fetch("lock_tasks", ids=[lease.task])
            held = await self._locked(transaction, lease)
            if held is None:
                return await self._settled_before(transaction, lease)
            if members is not None and lease.task in members.job_of:
                return Conflict(RESTART_IN_JOB)
            settled = await self._settle_in(transaction, Settlement(lease=lease, act=Act.RESTART), members)
            if settled is not None and settled.state is State.QUEUED:
                await end_round(transaction, request, records=held.records, now=held.now)
            return settled

        # Another branch of the attempt may have started its first child after it was looked whether there are any.
        answer = await self._database.transact(Line.SETTLE, act, repeat=True)
        if answer is None:
            answer = await self._database.transact(Line.SETTLE, act, repeat=True)
        return Fenced(NOT_CURRENT) if answer is None else answer

    async def wait_all(
        self, requests: Sequence[WaitRequest], *, limits: RecordLimits = DEFAULT_RECORD_LIMITS
    ) -> list[Waited]:
        """Do the same for many attempts; those that only sleep are answered, or ended, together."""
        answers: dict[Lease, Waited] = {}
        for part in in_parts(request for request in requests if sleeps_only(request)):

            async def act(transaction: Transaction, part: Mapping[TaskId, WaitRequest] = part) -> dict[Lease, Waited]:
                return await self._sleep_together(transaction, part, limits)

            answers |= await self._database.transact(Line.SETTLE, act, repeat=True)
        for request in requests:
            if request.lease not in answers:
                answers[request.lease] = await self.wait(request, limits=limits)
        return [answers[request.lease] for request in requests]

    async def _sleep_together(
        self, transaction: Transaction, requests: Mapping[TaskId, WaitRequest], limits: RecordLimits
    ) -> dict[Lease, Waited]:
        """Answer or end attempts of tasks without jobs and relatives; the others are not in the answer."""
        tasks = sorted(requests)
        if await self._following.lock_members(transaction, tasks) is not None:
            return {}
        await transaction.fetch("lock_tasks", ids=tasks)
        sleepers = await find_sleepers(transaction, requests, now=self._now())

        async def tenants(lanes: Iterable[int]) -> Mapping[int, str]:
            return {lane: each.tenant for lane, each in (await self._lanes.lanes(lanes, transaction)).items()}

        async def settle(within: Transaction, settlements: Sequence[Settlement]) -> Mapping[Lease, Settled]:
            return await self._settle_all_in(within, settlements, None)

        over = [each for each in sleepers if each.is_over]
        answers = await end_sleeps(transaction, over, limits, tenants, now=self._now())
        return answers | await begin_sleeps(transaction, [each for each in sleepers if not each.is_over], settle)

    async def _settle_in(
        self, transaction: Transaction, settlement: Settlement, members: Members | None
    ) -> Settled | None:
        return (await self._settle_all_in(transaction, [settlement], members)).get(settlement.lease)

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
            await self.write(transaction, request.lease, held, record, is_new=True)
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
        if wait.kind in CHILD_KINDS:
            return await self._outcome(transaction, task, wait, held, since=since)
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

    async def _outcome(
        self, transaction: Transaction, task: TaskId, wait: Wait, held: LockedTask, *, since: Instant
    ) -> Record | None:
        """Return what a wait for children is answered with, if enough of them have ended."""
        outcome = await outcome_of(transaction, task, wait)
        if outcome is None:
            return None
        status, value = outcome
        return Record(
            name=wait.name,
            key=wait.key,
            kind=RECORD_OF.get(wait.kind, RecordKind.GROUP),
            status=status,
            value=value,
            seq=held.records + 1,
            started_at=since,
            at=held.now,
        )

    async def _park(
        self, transaction: Transaction, request: WaitRequest, held: LockedTask, members: Members | None
    ) -> Waited:
        """Keep what an attempt waits for, and end it: the task is due when the first of that is over."""
        task, now = request.lease.task, held.now
        await transaction.fetch("drop_passing_waits", id=task)
        waits = request.waits
        lanes = await self._lanes.lanes([held.lane], transaction)
        pending = [await pending_of(transaction, task, wait) for wait in waits]
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
            schemas=[None if wait.schema is None else storable(wait.schema) for wait in waits],
            pending=pending,
            wake_at=[wake_at(wait, count) for wait, count in zip(waits, pending, strict=True)],
        )
        rows = await self._waits(transaction, task)
        deadlines = [rows[wait.name, wait.key].until for wait in waits]
        due_at = min((deadline for deadline in deadlines if deadline is not None), default=NEVER)
        settled = await self._settle_in(
            transaction, Settlement(lease=request.lease, act=Act.PARK, due_at=due_at), members
        )
        return Fenced(NOT_CURRENT) if settled is None else settled

    async def _settled_before(self, transaction: Transaction, lease: Lease) -> Settled | Fenced:
        """Return the answer that was given before, with the hint: it is lost if the first answer was."""
        rows = await transaction.fetch("settled_attempt", id=lease.task, epoch=lease.epoch, nonce=lease.nonce)
        if not rows:
            return Fenced(NOT_CURRENT)
        ((outcome, lane, due_at),) = rows
        hint = None
        if lane is not None:
            hint = Hint(lease.task, (await self._lanes.lanes({lane}, transaction))[lane], Instant(due_at))
        return Settled(state_after(AttemptOutcome(outcome)), hint)


def first_deadline(wait: Wait, now: Instant) -> Instant | None:
    """Return until when something is waited for that was not waited for before."""
    if wait.until is not None:
        return wait.until
    return None if wait.delay_ms is None else Instant(now + wait.delay_ms)
