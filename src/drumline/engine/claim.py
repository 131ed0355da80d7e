"""Handing tasks out: hints first, the store decides, and idle claimers sleep until woken."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from drumline.aio.batcher import Batcher
from drumline.core.clock import Clock
from drumline.core.errors import Unavailable
from drumline.core.ids import SessionId
from drumline.core.metrics import Metrics
from drumline.core.session import SessionSpec
from drumline.core.task import ClaimedTask
from drumline.core.tuning import DEFAULT_TUNING, Tuning
from drumline.engine.flow import FlowLimits
from drumline.engine.offer import Offers
from drumline.engine.returns import Returns
from drumline.engine.shares import Shares
from drumline.engine.waiting import Waiter
from drumline.ports.queue import Queue
from drumline.ports.store import Claim, ClaimRequest

FLIGHTS = 2
"""Claims of one kind that are under way in the store at once; those that come meanwhile go together."""
LONGEST_PATIENCE = 0.1
"""Seconds between two looks for a task that is due by our clock, but not by the store's."""
HINTED, CHOSEN = ("hints",), ("store",)
NO_HINTS, WRONG, BETTER = ("no_hints",), ("wrong_hints",), ("better_known",)


NOTHING = Claim(())


class ClaimStore(Protocol):
    """What is asked of the store here."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run."""
        ...


class Dispatch(NamedTuple):
    """What decides who is given what: the tenants' shares, and the limits; and who is told of it."""

    shares: Shares
    flow: FlowLimits
    returns: Returns
    """Where goes what was leased and nobody took."""
    note_leased: Callable[[tuple[ClaimedTask, ...]], None]
    """Called with tasks that were stored leased, when their claimer takes them."""


class Claims:
    """The way out to workers."""

    def __init__(
        self,
        store: ClaimStore,
        queue: Queue,
        offers: Offers,
        dispatch: Dispatch,
        *,
        clock: Clock,
        new_nonce: Callable[[], int],
    ) -> None:
        self._store = store
        self._queue = queue
        self._waiters = offers.waiters
        self._shares, self._flow, self._returns, self._note_leased = dispatch
        self._turn = 0
        self._clock = clock
        self._new_nonce = new_nonce
        self._hinted: Batcher[ClaimRequest, Claim] = Batcher(
            store.claim, name="hinted claims", largest=DEFAULT_TUNING.claim_batch, parallel=FLIGHTS
        )
        # Apart from the others, and few at a time: when the queue is away, claimers meet at the same tasks.
        self._batcher: Batcher[ClaimRequest, Claim] = Batcher(
            store.claim, name="claims", largest=DEFAULT_TUNING.claim_batch, parallel=FLIGHTS
        )
        self._limited: Batcher[ClaimRequest, Claim] = Batcher(
            store.claim, name="limited claims", largest=DEFAULT_TUNING.claim_batch
        )
        self.measure(Metrics(clock))
        self._paused: frozenset[str] = frozenset()
        self._left: set[asyncio.Future[Claim]] = set()
        self._waiters.left_leased = self._returns.give_back

    def measure(self, metrics: Metrics) -> None:
        """Count in these figures; to be called before use."""
        self._metrics = metrics
        metrics.claimed.begin(HINTED, CHOSEN)
        metrics.fallbacks.begin(NO_HINTS, WRONG, BETTER)
        self._hinted.meter = self._batcher.meter = self._limited.meter = metrics.batch.of("claims")

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
        request = ClaimRequest(
            session=session,
            nonce=self._new_nonce() if nonce is None else nonce,
            limit=limit,
            queues=spec.queues,
            names=self._handed_out(spec.names),
            tenant=spec.tenant,
            again=again and nonce is not None,
            waits=wait > 0,
        )
        deadline = self._clock.monotonic() + wait
        early = 0
        with self._waiters.waiting(spec, session, request.nonce) as waiter:
            while True:
                claim = await (self._join(request) if request.hints is None else self._take(request))
                left = deadline - self._clock.monotonic()
                if len(claim.tasks) >= limit:
                    self._waiters.found_all(waiter)
                tasks = claim.tasks + self._leased(waiter, session, limit - len(claim.tasks), claim.tasks)
                if tasks or (left <= 0 and not request.again):
                    return tasks
                if not request.again:
                    until = self._until(claim)
                    early = early + 1 if until <= 0 else 0
                    await self._waiters.wait(waiter, left=left, until=max(until, _patience(early)))
                    if leased := self._leased(waiter, session, limit):
                        return leased
                request = replace(request, again=False, names=self._handed_out(spec.names), hints=waiter.take())

    def lease(self, session: SessionId, task: ClaimedTask) -> None:
        """Give a claimer that waits a task that was stored with its lease; if it waits no more, give the task back."""
        if task.name in self._paused or not self._waiters.lease(session, task):
            self._returns.give_back([task])

    def note_held(self, session: SessionId, held: Mapping[str, int]) -> None:
        """Take a worker's word for how many tasks of each tenant it has: its next claims are fair by it."""
        self._shares.holds(session, held)

    async def drained(self) -> None:
        """Wait until what claimers left behind has been given back."""
        if self._left:
            await asyncio.wait(set(self._left))
            await asyncio.sleep(0)  # their callbacks begin the returns
        await self._returns.drained()

    def _leased(
        self, waiter: Waiter, session: SessionId, room: int, given: tuple[ClaimedTask, ...] = ()
    ) -> tuple[ClaimedTask, ...]:
        """Return what was leased to a claimer while it waited, as far as it has room and was not given it already."""
        tasks = waiter.take_leased(room, given)
        if tasks:
            self._metrics.claimed.add(len(tasks), HINTED)
            self._shares.gave(session, tasks)
            self._note_leased(tasks)
        return tasks

    def _handed_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names without those that are paused."""
        if not self._paused:
            return names
        return tuple(name for name in names if name not in self._paused)

    async def _join(self, request: ClaimRequest) -> Claim:
        return await self._answer(asyncio.ensure_future(self._claim(request)))

    async def _answer(self, answer: "asyncio.Future[Claim]") -> Claim:
        """Wait for a claim; if the claimer leaves before its answer comes, give back what it was given."""
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self._left.add(answer)
            answer.add_done_callback(self._left_behind)
            raise

    async def _claim(self, request: ClaimRequest) -> Claim:
        """Claim; for a session that serves everybody, by the tenants' shares."""
        if request.tenant is not None:
            return await self._choose(request)
        shares = await self._shares.standing()
        claim = await self._choose(replace(request, shares=shares))
        if claim.tasks:
            self._shares.gave(request.session, claim.tasks)
        return claim

    async def _take(self, request: ClaimRequest) -> Claim:
        """Claim what the session was handed while it waited; if that was wrong, whatever there is."""
        claim = await self._answer(self._hinted.joined(request))
        if not claim.tasks:
            self._metrics.fallbacks.add(1, WRONG)
            return await self._join(replace(request, hints=None))
        self._metrics.claimed.add(len(claim.tasks), HINTED)
        self._shares.gave(request.session, claim.tasks)
        return claim

    async def _choose(self, request: ClaimRequest) -> Claim:
        """Claim; where tasks under limits may be met, those and others in turn, so that neither keeps out the other."""
        if not await self._flow.may_meet_limits(request):
            return await self._choose_free(request)
        self._turn ^= 1
        first = request.limit if request.again else (request.limit + self._turn) // 2
        limited = await self._choose_limited(request, first) if first else NOTHING
        if len(limited.tasks) >= request.limit and not request.again:
            return limited
        try:
            free = await self._choose_free(replace(request, limit=max(request.limit - len(limited.tasks), 0)))
        except Unavailable:
            if not limited.tasks:
                raise
            return limited  # it is leased: it has to be handed over, whatever became of the rest
        found = limited.tasks + free.tasks
        if not first and not found:
            return _together(await self._choose_limited(request, request.limit), free)
        return _together(limited, free)

    async def _choose_limited(self, request: ClaimRequest, limit: int) -> Claim:
        """Claim tasks under limits, unless there were none just now. Such a claim has a name of its own."""
        quiet_until = None if request.again else self._flow.quiet_until(request)
        if quiet_until is not None:
            return Claim((), quiet_until)
        claim = await self._limited.join(replace(request, limit=limit, nonce=request.nonce ^ 1, limited=True))
        if claim.tasks:
            self._metrics.claimed.add(len(claim.tasks), CHOSEN)
        return claim

    async def _choose_free(self, request: ClaimRequest) -> Claim:
        """Claim what the queue hints at; where it has no hints or only wrong ones, let the store choose."""
        popped = None if request.again else await self._queue.pop(request)
        if popped is None:
            return await self._leave_to_store(request, NO_HINTS)
        if not popped.tasks:
            return await self._leave_to_store(request, BETTER) if popped.asks_store else Claim((), popped.next_due)
        claim = await self._hinted.join(replace(request, hints=popped.tasks))
        if not claim.tasks:
            return await self._leave_to_store(request, WRONG)
        self._metrics.claimed.add(len(claim.tasks), HINTED)
        return claim

    async def _leave_to_store(self, request: ClaimRequest, why: tuple[str]) -> Claim:
        """Let the store choose."""
        self._metrics.fallbacks.add(1, why)
        claim = await self._batcher.join(request)
        if claim.tasks:
            self._metrics.claimed.add(len(claim.tasks), CHOSEN)
        return claim

    def _left_behind(self, answer: "asyncio.Future[Claim]") -> None:
        self._left.discard(answer)
        if not answer.cancelled() and answer.exception() is None and answer.result().tasks:
            self._returns.give_back(answer.result().tasks)

    def _until(self, claim: Claim) -> float:
        """Return the seconds until the next task is due by this process's clock: none if the store's is behind."""
        if claim.next_due is None:
            return self._waiters.poll
        return min(self._waiters.poll, (claim.next_due - self._clock.now()) / 1000)


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
