"""Handing tasks out: the queue hints, the store decides, and idle claimers sleep until they are woken."""

import asyncio
from asyncio import Future, ensure_future
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from drumline.aio.batcher import Batcher
from drumline.core.errors import Unavailable
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.session import SessionSpec
from drumline.core.task import ClaimedTask
from drumline.core.tuning import DEFAULT_TUNING, Tuning
from drumline.engine.flow import FlowLimits
from drumline.engine.options import EngineOptions
from drumline.engine.settle import Settlements
from drumline.engine.shares import Shares
from drumline.engine.waiting import Waiter, Waiters
from drumline.ports.execution import LeaseState
from drumline.ports.queue import Popped, Queue
from drumline.ports.store import Claim, ClaimRequest

FLIGHTS = 2
"""Claims of one kind that are under way in the store at once; those that come meanwhile go together."""
LONGEST_PATIENCE = 0.1
"""Seconds between two looks for a task that is due by our clock, but not by the store's."""
LATE_SECONDS = 0.5
"""Of a claim's answer: it may have been under way while the session's beats told of nothing held. Beats come apart by
seconds, but those that waited for the store in an outage come at once."""
HINTED, CHOSEN = ("hints",), ("store",)
NO_HINTS, WRONG, BETTER = ("no_hints",), ("wrong_hints",), ("better_known",)


NOTHING = Claim(())

Flush = Callable[[list[ClaimRequest]], Awaitable[list[Claim]]]
ClaimStep = Callable[[list[Claim]], Awaitable[list[Claim]]]
"""Makes claims ready for workers: cancels what has expired, or fills in what tasks of jobs need."""


class ClaimStore(Protocol):
    """The part of a store that hands tasks out."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run."""
        ...

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return the state of each leased task; None for a lease that is not current."""
        ...


class Dispatch(NamedTuple):
    """What decides which claimer gets which task: the queue's hints, waiting claimers, tenants' shares, limits."""

    queue: Queue
    waiters: Waiters
    shares: Shares
    flow: FlowLimits


class Claims:
    """Hands tasks to workers: queue.pop → store.claim → cancel expired → fill inputs → count limits → note shares."""

    def __init__(
        self,
        store: ClaimStore,
        dispatch: Dispatch,
        steps: Sequence[ClaimStep],
        settlements: Settlements,
        *,
        new_nonce: Callable[[], int],
        options: EngineOptions,
    ) -> None:
        self._store = store
        self._queue, self._waiters, self._shares, self._flow = dispatch
        self._steps = steps
        self._settlements = settlements
        self._notes = settlements.effects.notes
        self._offers = settlements.effects.offers
        self._turn = 0
        self._clock = options.clock
        self._new_nonce = new_nonce
        self._metrics = options.metrics
        self._metrics.claimed.begin(HINTED, CHOSEN)
        self._metrics.fallbacks.begin(NO_HINTS, WRONG, BETTER)
        self._hinted = self._batched(self._claim, "hinted claims")
        # Apart from the others, and few at a time: when the queue is away, claimers meet at the same tasks.
        self._batcher = self._batched(self._claim, "claims")
        self._limited = self._batched(self._claim_limited, "limited claims", parallel=1)
        self._paused: frozenset[str] = frozenset()
        self._left: set[Future[Claim]] = set()
        self._under_way: set[asyncio.Task[None]] = set()
        """Withdrawals, and what is given to claims that wait."""
        self._ended_waits = 0
        settlements.gave = self._give

    def _batched(self, flush: Flush, name: str, parallel: int = FLIGHTS) -> Batcher[ClaimRequest, Claim]:
        batcher: Batcher[ClaimRequest, Claim] = Batcher(
            flush, name=name, largest=DEFAULT_TUNING.claim_batch, parallel=parallel
        )
        batcher.meter = self._metrics.batch.of("claims")
        return batcher

    def tune(self, tuning: Tuning) -> None:
        """Go by other sizes and pauses from now on."""
        self._paused = tuning.paused_names
        self._waiters.poll = tuning.poll
        for batcher in (self._hinted, self._batcher, self._limited):
            batcher.resize(tuning.claim_batch)

    async def claim(
        self,
        session: SessionId,
        spec: SessionSpec,
        *,
        limit: int,
        wait: float,
        nonce: int | None = None,
        again: bool = False,
    ) -> tuple[ClaimedTask, ...]:
        """Return up to `limit` tasks that the session can run; with none due, wait up to `wait` seconds.

        `nonce` names the claim, if the caller wants to name it. With `again` the claim of that name is repeated
        because its answer was lost: it returns what that one took, or if that took nothing, claims anew.
        """
        name = self._new_nonce() if nonce is None else nonce
        request = self._request(session, spec, limit, name, again=again and nonce is not None, waits=wait > 0)
        with self._waiters.waiting(spec, session, request.nonce) as waiter:
            waiter.request = request if request.waits else None
            try:
                tasks = await self._claim_or_wait(request, spec, waiter, wait)
                if request.waits and not tasks:
                    # It has waited longest of all: the next task would be leased to it, and it does not wait any more.
                    await self._queue.withdraw(request)
                    tasks = self._leased(waiter, request)
            except asyncio.CancelledError:
                if request.waits:
                    self._withdraw(request)
                raise
            finally:
                self._return_unused(waiter)
            return tasks

    async def repeat(self, session: SessionId, spec: SessionSpec, *, limit: int, nonce: int) -> tuple[ClaimedTask, ...]:
        """Return what the claim of this name took, because its answer was lost, and claim nothing anew."""
        request = self._request(session, spec, limit, nonce, again=True)
        return (await self._finished(ensure_future(self._find(request)))).tasks

    def _request(
        self, session: SessionId, spec: SessionSpec, limit: int, nonce: int, *, again: bool, waits: bool = False
    ) -> ClaimRequest:
        return ClaimRequest(
            session=session,
            nonce=nonce,
            limit=limit,
            queues=spec.queues,
            names=self._handed_out(spec.names),
            tenant=spec.tenant,
            again=again,
            waits=waits,
        )

    async def _claim_or_wait(
        self, request: ClaimRequest, spec: SessionSpec, waiter: Waiter, wait: float
    ) -> tuple[ClaimedTask, ...]:
        """Claim until there are tasks or the time is over; between two claims wait to be woken."""
        deadline = self._clock.monotonic() + wait
        early, ended_waits = 0, self._ended_waits
        while True:
            claim = await (
                self._take_hinted(request) if request.hints else self._finished(ensure_future(self._find(request)))
            )
            left = deadline - self._clock.monotonic()
            if len(claim.tasks) >= request.limit:
                self._waiters.found_all(waiter)
            tasks = claim.tasks + self._leased(waiter, request, claim.tasks)
            if tasks or (left <= 0 and not request.again):
                return tasks
            if not request.again:
                until = self._until(claim)
                early = early + 1 if until <= 0 else 0
                looks = await self._waiters.wait(waiter, left=left, until=max(until, _patience(early)))
                if (leased := self._leased(waiter, request)) or ended_waits != self._ended_waits or not looks:
                    return leased
            request = replace(request, again=False, names=self._handed_out(spec.names), hints=waiter.take())

    def lease(self, session: SessionId, task: ClaimedTask) -> None:
        """Give a waiting claimer a task that was stored with its lease; if it waits no more, release the task."""
        if task.name in self._paused or not self._waiters.lease(session, task):
            self._settlements.release([task])

    def end_waits(self) -> None:
        """Let claims that wait return without a task, so that claimers ask again, and elsewhere."""
        self._ended_waits += 1
        self._waiters.wake_all()

    def is_asleep(self, session: SessionId, nonce: int) -> bool:
        """Tell whether a claim waits to be woken; else it is asking the store, and may have been given tasks."""
        return self._waiters.is_asleep(session, nonce)

    def note_held(self, session: SessionId, held: Mapping[str, int]) -> None:
        """Note how many tasks of each tenant a worker says it holds: its next claims are shared out by that."""
        self._shares.holds(session, held)

    async def drained(self) -> None:
        """Wait until what cancelled claimers were given is released."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))
        if self._left:
            await asyncio.wait(set(self._left))
            await asyncio.sleep(0)  # their callbacks begin the releases
        await self._settlements.drained()

    def _leased(
        self, waiter: Waiter, request: ClaimRequest, given: tuple[ClaimedTask, ...] = ()
    ) -> tuple[ClaimedTask, ...]:
        """Return what was leased to a claimer while it waited, as far as it has room and was not given it already."""
        tasks = waiter.take_leased(request.limit - len(given), given)
        if tasks:
            self._metrics.claimed.add(len(tasks), HINTED)
            self._shares.gave(request.session, tasks)
            self._notes.claimed(
                [Claim(tasks)]
            )  # now and not when they were stored, so that the note of the end is later
        return tasks

    def _return_unused(self, waiter: Waiter) -> None:
        """Release or offer what a claimer was given while it waited and did not take."""
        if waiter.leased:
            self._settlements.release(waiter.leased)
        if waiter.handed is not None:
            self._offers.offer([waiter.handed])

    def _withdraw(self, request: ClaimRequest) -> None:
        self._start(self._queue.withdraw(request), name="withdraw a claim")

    def _give(self, taker: ClaimRequest, claim: Claim) -> None:
        """Give a claim that waits what was leased to it when the store released it. Returns at once."""
        self._start(self._ready_and_lease(taker.session, claim), name="give released tasks")
        if taker.waits and len(claim.tasks) >= taker.limit:
            self._withdraw(taker)  # it does not ask the queue again soon, which would lease it others meanwhile

    async def _ready_and_lease(self, session: SessionId, claim: Claim) -> None:
        for ready in await self._ready([claim]):
            for task in ready.tasks:
                self.lease(session, task)

    def _start(self, work: Coroutine[None, None, None], *, name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _handed_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names without those that are paused."""
        if not self._paused:
            return names
        return tuple(name for name in names if name not in self._paused)

    async def _take_hinted(self, request: ClaimRequest) -> Claim:
        """Claim the task that the session was handed while it waited; if another has it, what there is."""
        claim = await self._finished(self._hinted.joined(request))
        if not claim.tasks:
            self._metrics.fallbacks.add(1, WRONG)
            return await self._finished(ensure_future(self._find(replace(request, hints=None))))
        self._metrics.claimed.add(len(claim.tasks), HINTED)
        self._shares.gave(request.session, claim.tasks)
        return claim

    async def _finished(self, answer: "Future[Claim]") -> Claim:
        """Wait for a claim; if the claimer is cancelled meanwhile, the claim goes on, and what it takes is released."""
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self._left.add(answer)
            answer.add_done_callback(self._left_behind)
            raise

    def _left_behind(self, answer: "Future[Claim]") -> None:
        self._left.discard(answer)
        if not answer.cancelled() and answer.exception() is None and answer.result().tasks:
            self._settlements.release(answer.result().tasks)

    async def _find(self, request: ClaimRequest) -> Claim:
        """Claim; for a session that serves every tenant, by the tenants' shares."""
        if request.tenant is None:
            request = replace(request, shares=await self._shares.levels())
        if await self._flow.may_meet_limits(request):
            claim = await self._choose_in_turn(request)
        else:
            claim = await self._choose(request)
        if claim.tasks and request.tenant is None:
            self._shares.gave(request.session, claim.tasks)
        return claim

    async def _choose(self, request: ClaimRequest) -> Claim:
        """Claim what the queue hints at; where it has no hints or only wrong ones, let the store choose."""
        popped = None if request.again else await self._queue.pop(request)
        if popped is not None and popped.tasks:
            claim = await self._hinted.joined(replace(request, hints=popped.tasks))
            if claim.tasks:
                self._metrics.claimed.add(len(claim.tasks), HINTED)
                return claim
        elif popped is not None and not popped.asks_store:
            return Claim((), popped.next_due)
        self._metrics.fallbacks.add(1, _reason(popped))
        claim = await self._batcher.joined(request)
        if claim.tasks:
            self._metrics.claimed.add(len(claim.tasks), CHOSEN)
        return claim

    async def _choose_in_turn(self, request: ClaimRequest) -> Claim:
        """Claim tasks under limits and others in turn, so that neither keeps out the other."""
        self._turn ^= 1
        first = request.limit if request.again else (request.limit + self._turn) // 2
        limited = await self._choose_limited(request, first) if first else NOTHING
        if len(limited.tasks) >= request.limit and not request.again:
            return limited
        try:
            free = await self._choose(replace(request, limit=max(request.limit - len(limited.tasks), 0)))
        except Unavailable:
            if not limited.tasks:
                raise
            return limited  # it is leased: it has to be handed out, whatever became of the rest
        found = limited.tasks + free.tasks
        if not first and not found:
            return _together(await self._choose_limited(request, request.limit), free)
        return _together(limited, free)

    async def _choose_limited(self, request: ClaimRequest, limit: int) -> Claim:
        """Claim tasks under limits, unless there were none just now. Such a claim has a nonce of its own."""
        quiet_until = None if request.again else self._flow.quiet_until(request)
        if quiet_until is not None:
            return Claim((), quiet_until)
        claim = await self._limited.joined(replace(request, limit=limit, nonce=request.nonce ^ 1, limited=True))
        if claim.tasks:
            self._metrics.claimed.add(len(claim.tasks), CHOSEN)
        return claim

    async def _claim(self, requests: list[ClaimRequest]) -> list[Claim]:
        """Claim in the store, note it, and make what was claimed ready for workers."""
        begun = self._clock.monotonic()
        claims = await self._store.claim(requests)
        self._notes.claimed(claims)
        claims = await self._ready(claims)
        is_late = self._clock.monotonic() - begun >= LATE_SECONDS
        return await self._still_leased(claims) if is_late else claims

    async def _still_leased(self, claims: list[Claim]) -> list[Claim]:
        """Leave out what the store has released meanwhile, so that no worker begins it in vain."""
        leases = [task.lease for claim in claims for task in claim.tasks]
        states = await self._store.lease_states(leases) if leases else []
        lost = {lease.task for lease, state in zip(leases, states, strict=True) if state is None}
        return [claim.without(lost, now=self._clock.now()) for claim in claims] if lost else claims

    async def _ready(self, claims: list[Claim]) -> list[Claim]:
        for step in self._steps:
            claims = await step(claims)
        return claims

    async def _claim_limited(self, requests: list[ClaimRequest]) -> list[Claim]:
        """Claim tasks under limits, and remember that they have a slot."""
        claims = await self._claim(requests)
        for request, claim in zip(requests, claims, strict=True):
            self._flow.answered(request, claim)
            self._settlements.leases.add_limited(claim.tasks)
        return claims

    def _until(self, claim: Claim) -> float:
        """Return the seconds until the next task is due by this process's clock: none if the store's is behind."""
        if claim.next_due is None:
            return self._waiters.poll
        return min(self._waiters.poll, (claim.next_due - self._clock.now()) / 1000)


def _reason(popped: Popped | None) -> tuple[str]:
    """Return why the store had to choose."""
    if popped is None:
        return NO_HINTS
    return WRONG if popped.tasks else BETTER


def _together(first: Claim, second: Claim) -> Claim:
    """Return what two claims were given, and when the earlier of them is worth repeating."""
    dues = [due for due in (first.next_due, second.next_due) if due is not None]
    return Claim(first.tasks + second.tasks, min(dues, default=None))


def _patience(early: int) -> float:
    """Return the least seconds to the next look, after so many that came too early one after the other.

    The store's clock decides what is due. Where this process's is ahead of it, waiting for a task would be asking for
    it a thousand times a second.
    """
    return min(0.001 * 2.0**early, LONGEST_PATIENCE)
