"""Durable tasks: records are written in batches and sent along with claims, waits are answered or end the attempt."""

import asyncio
import secrets
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.aio.threads import off_loop
from drumline.core.blob import is_reference
from drumline.core.codec import check_json, decode
from drumline.core.durable import (
    LONGEST_RECORD_NAME,
    MOST_WAITS,
    NOTHING,
    Answered,
    NewRecord,
    NewSignal,
    Record,
    RecordKind,
    RecordPage,
    RecordStatus,
    RestartRequest,
    StepsView,
    WaitKind,
    WaitRequest,
    check_record_name,
    check_wait,
)
from drumline.core.errors import BlobMissing, DrumlineError, Fenced, Invalid, NotFound, Unavailable
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.names import check_text
from drumline.core.outcome import ErrorInfo
from drumline.core.secret_references import has_secrets
from drumline.core.state import Act, State
from drumline.core.task import Lane, TaskRequest, accept
from drumline.engine.checks import RequestChecks
from drumline.engine.options import EngineOptions
from drumline.engine.secrets import PayloadToCheck
from drumline.engine.settle import Settlements
from drumline.ports.durable import DurableTasks, Recorded, RecordLimits, Waited
from drumline.ports.store import Claim, Settled, Settlement, Store

ROW_BYTES: Final = 200


class Sent(NamedTuple):
    """A signal that is kept: its id, whether it is new, and how many tasks it has woken."""

    id: str
    created: bool
    woken: int


class DurableService:
    """Keeps what tasks have done, and ends attempts that have nothing to do but wait."""

    def __init__(
        self, store: Store, settlements: Settlements, *, checks: RequestChecks, options: EngineOptions
    ) -> None:
        self._store = store
        self._durable: DurableTasks = store.durable
        self._settlements = settlements
        self._checks = checks
        self._limits = options.limits
        self._record_limits = RecordLimits(options.limits.records, options.limits.record_bytes)
        self._metrics = options.metrics
        self._blobs = options.blobs
        self._batcher: Batcher[NewRecord, Recorded | Invalid] = Batcher(
            self.record, name="records", largest=500, parallel=options.parallel, weights=BatchWeights(_weight)
        )
        self._sleeps: Batcher[WaitRequest, Waited] = Batcher(
            self._wait_all, name="sleeps", largest=200, parallel=options.parallel
        )
        # Those that wait here do not use up the time in which a statement has to be answered.
        self._waits = asyncio.Semaphore(options.parallel)

    async def join(self, records: Sequence[NewRecord]) -> Sequence[Recorded | Invalid]:
        """Write records in one transaction with those of other workers that come at the same time."""
        return await self._batcher.join_many(records)

    async def record(self, records: Sequence[NewRecord]) -> list[Recorded | Invalid]:
        """Write records of current leases; each gets what is recorded under its name, or why it is not written."""
        errors = [self._error(new) for new in records]
        good = [new for new, error in zip(records, errors, strict=True) if error is None]
        answers = iter(await self._durable.record(good, limits=self._record_limits) if good else ())
        told = [next(answers) if error is None else error for error in errors]
        for answer in told:
            if isinstance(answer, Fenced):
                self._metrics.fenced.add()
            elif isinstance(answer, Record):
                self._metrics.records.add(1, (answer.status.word,))
        return told

    async def wait(self, request: WaitRequest) -> Answered | State | DrumlineError:
        """Answer what an attempt waits for, or end the attempt; returns the task's state then."""
        if not 0 < len(request.waits) <= MOST_WAITS:
            raise Invalid(f"must be from 1 to {MOST_WAITS:,}", field="waits")
        for number, wait in enumerate(request.waits):
            check_wait(wait, field=f"waits[{number}].")
        if len(request.waits) == 1 and request.waits[0].kind is WaitKind.SLEEP:
            answer = await self._sleeps.joined(request)
        else:
            async with self._waits:
                answer = await self._durable.wait(request, limits=self._record_limits)
        if isinstance(answer, Settled):
            self._settlements.followed([Settlement(lease=request.lease, act=Act.PARK)], [answer])
            self._metrics.waits.add(1, ("parked",))
            return answer.state
        if isinstance(answer, Fenced):
            self._metrics.fenced.add()
        elif isinstance(answer, Answered):
            self._metrics.waits.add(1, ("answered",))
            return Answered(
                tuple(
                    [(place, None if record is None else await self._open(record)) for place, record in answer.answers]
                )
            )
        return answer

    async def restart(self, request: RestartRequest) -> State | DrumlineError:
        """End the round of a task and offer it with another payload; returns its state then.

        Raises `Invalid` naming what is wrong with the payload.
        """
        task = request.lease.task
        found = await self._store.children.parent(request.lease)
        if found is not None:  # else the store knows whether this was done already
            request = replace(request, payload=Raw(await self._checked(task, request.payload, found.lane)))
        answer = await self._durable.restart(request)
        if isinstance(answer, Settled):
            self._settlements.followed([Settlement(lease=request.lease, act=Act.RESTART)], [answer])
            return answer.state
        if isinstance(answer, Fenced):
            self._metrics.fenced.add()
        return answer

    async def _checked(self, task: TaskId, payload: Raw, lane: Lane) -> bytes:
        """Return the payload of the next round as it is stored, checked like that of a submission."""
        limits, rules = self._limits, await self._checks.types.rules(lane.name, tenant=lane.tenant)
        wanted = TaskRequest(name=lane.name, payload=payload, queue=lane.queue, priority=lane.priority)
        check = partial(accept, wanted, id=task, tenant=lane.tenant, limits=limits, rules=rules)
        accepted = await off_loop(len(payload) + rules.weight, check)
        if has_secrets(accepted.payload):
            await self._checks.secrets.check([PayloadToCheck(accepted.payload)], tenant=lane.tenant)
        kept = accepted.payload
        return await self._blobs.keep(task, kept) if self._blobs.is_large(len(kept)) else kept

    async def _wait_all(self, requests: Sequence[WaitRequest]) -> list[Waited]:
        return await self._durable.wait_all(requests, limits=self._record_limits)

    async def signal(
        self,
        name: str,
        payload: Raw = NOTHING,
        *,
        task: TaskId | None = None,
        key: str | None = None,
        id: str | None = None,
        tenant: str | None = None,
    ) -> Sent:
        """Keep a signal to a task, or by a key to whichever task of the tenant takes it first.

        Raises `NotFound`, `Conflict` if the task has ended, `KeyReused` if the id belongs to another signal, and
        `Invalid` naming the field at fault.
        """
        check_record_name(name, "")
        if task is None:
            check_text(key or "", field="key", longest=LONGEST_RECORD_NAME)
        if id is not None:
            check_text(id, field="id", longest=LONGEST_RECORD_NAME)
        await off_loop(
            len(payload),
            lambda: check_json(
                bytes(payload), field="payload", largest=self._limits.payload, deepest=self._limits.nesting
            ),
        )
        own = id or secrets.token_hex(16)
        answer = await self._durable.signal(
            NewSignal(id=own, name=name, payload=payload, task=task, key=key or "", tenant=tenant)
        )
        if isinstance(answer, DrumlineError):
            raise answer
        self._metrics.signals.add(1, ("new" if answer.created else "repeated",))
        effects = self._settlements.effects
        effects.notes.changed(answer.woken)
        effects.offers.move([each.hint for each in answer.woken if each.hint is not None])
        return Sent(own, answer.created, len(answer.woken))

    async def records(self, lease: Lease, *, after: int) -> RecordPage:
        """Return records of the task of a current lease after a place, or raise `Fenced`."""
        if await self._store.lease_states([lease]) == [None]:
            raise Fenced(f"another attempt owns task {lease.task} now", field="lease")
        (page,) = await self._durable.pages([(lease.task, after)])
        return await self._opened(page)

    async def steps(
        self,
        task: TaskId,
        *,
        after: int = 0,
        limit: int = 100,
        round: int | None = None,
        tenant: str | None = None,
    ) -> StepsView:
        """Return what a task has done and what it waits for, or what it did in a round; or raise `NotFound`."""
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page:,}", field="limit")
        found = await self._durable.steps(task, after=after, limit=limit, round=round, tenant=tenant)
        if isinstance(found, NotFound):
            raise found
        if found.payload is None:
            return replace(found, page=await self._opened(found.page))
        records = [await self._open_if_kept(record) for record in found.page.records]
        page = RecordPage(tuple(records), found.page.has_more)
        return replace(found, page=page, payload=await self._blobs.read(found.payload))

    async def _opened(self, page: RecordPage) -> RecordPage:
        """Return records with the results of children that are kept beside the database."""
        if not any(_is_beside(record) for record in page.records):
            return page
        return RecordPage(tuple([await self._open(record) for record in page.records]), page.has_more)

    async def _open(self, record: Record) -> Record:
        return replace(record, value=await self._blobs.read(record.value)) if _is_beside(record) else record

    async def _open_if_kept(self, record: Record) -> Record:
        """Return a record of a round that is over; the child whose large result it has may have been pruned."""
        try:
            return await self._open(record)
        except BlobMissing:
            return replace(record, value=NOTHING)

    async def fill(self, claims: list[Claim]) -> list[Claim]:
        """Send the records of claimed tasks along, the first of them; of most tasks there are none."""
        recorded = [task.lease.task for claim in claims for task in claim.tasks if task.recorded]
        if not recorded:
            return claims
        try:
            pages = await self._durable.pages([(task, 0) for task in recorded])
            pages = [await self._opened(page) for page in pages]
        except (Unavailable, BlobMissing):
            pages = [RecordPage((), has_more=True)] * len(recorded)  # their workers ask for them
        found = dict(zip(recorded, pages, strict=True))
        return [
            Claim(
                tuple(replace(task, records=found[task.lease.task]) if task.recorded else task for task in claim.tasks),
                claim.next_due,
                claim.left,
            )
            for claim in claims
        ]

    def _error(self, new: NewRecord) -> Invalid | None:
        try:
            check_record_name(new.name, new.key)
        except Invalid as error:
            return error
        if new.status is not RecordStatus.DONE:
            try:
                decode(bytes(new.value), ErrorInfo)
            except Invalid as error:
                return Invalid(f"must be an error with kind and message: {error.message}", field="value")
        if len(new.value) > self._limits.result:
            text = f"has {len(new.value):,} bytes of JSON; at most {self._limits.result:,} are kept (limits.result)"
            return Invalid(text, field=f"step {new.name!r}", code="too_large")
        return None


def _is_beside(record: Record) -> bool:
    return record.kind is RecordKind.CALL and is_reference(record.value)


def _weight(new: NewRecord) -> int:
    return len(new.value) + ROW_BYTES
