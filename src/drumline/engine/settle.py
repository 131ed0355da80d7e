"""Recording how attempts ended: workers report, the engine decides what follows, the store records it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.duration import millis
from drumline.core.errors import Fenced, Unavailable
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo, Failed, Released, Snoozed, Stopped, Succeeded
from drumline.core.shorten import shorten
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask
from drumline.engine.effects import EffectFollower
from drumline.engine.flow import FlowLimits
from drumline.engine.leases import LocalLeases
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report, weight_of
from drumline.ports.store import Claim, ClaimRequest, LeaseState, Settled, Settlement

LONGEST_WAIT = timedelta(days=366)


class SettleStore(Protocol):
    """The part of a store that records ends of attempts."""

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return failures and options of each leased task; None for a lease that is not current."""
        ...

    async def settle(
        self, settlements: Sequence[Settlement], *, takers: Sequence[ClaimRequest] = ()
    ) -> list[Settled | Fenced]:
        """Record how attempts ended, and lease what that releases to claims that wait."""
        ...


class Takers(Protocol):
    """The claims of this process that wait for tasks."""

    def takers(self) -> AbstractContextManager[list[ClaimRequest]]:
        """Give claims to which tasks may be leased meanwhile."""
        ...


class Settlements:
    """Takes reports of workers: decide → store.settle → follow effects."""

    def __init__(
        self,
        store: SettleStore,
        effects: EffectFollower,
        flow: FlowLimits,
        takers: Takers,
        *,
        random: Callable[[], float],
        options: EngineOptions,
    ) -> None:
        self._store = store
        self.effects = effects
        self._flow = flow
        self.leases = LocalLeases()
        self._random = random
        self._limits = options.limits
        self._blobs = options.blobs
        self._metrics = options.metrics
        self._batch_size = options.metrics.batch.of("settlements")
        self._batcher: Batcher[Report, State | Fenced] = Batcher(
            self.settle,
            name="settlements",
            largest=500,
            parallel=options.parallel,
            weights=BatchWeights(weight_of),
        )
        self._releases: set[asyncio.Task[None]] = set()
        self._takers = takers
        self.gave: Callable[[ClaimRequest, Claim], None] | None = None
        """Called with what was leased to a claim that waits."""

    async def join(self, reports: Sequence[Report]) -> list[State | Fenced]:
        """Settle in one transaction with the reports of other workers that come at the same time."""
        return await self._batcher.join_many(reports)

    async def settle(self, reports: Sequence[Report]) -> list[State | Fenced]:
        """Record ends of attempts; each gets the task's state after it, or `Fenced`."""
        self._batch_size(len(reports))
        failed = [report.lease for report in reports if isinstance(report.outcome, Failed)]
        lease_states = dict(zip(failed, await self._store.lease_states(failed), strict=True)) if failed else {}
        decided = [self.decide(report, lease_states.get(report.lease) if lease_states else None) for report in reports]
        if self._blobs.is_on:
            decided = list(await self._blobs.keep_results(decided))
        return self._counted(decided, await self.record(decided))

    async def record(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record settlements that are decided, and follow what they lead to."""
        settlements = self.leases.with_jobs(settlements)
        if [1 for settlement in settlements if settlement.job is not None]:
            answers = await self._settle_in_jobs(settlements)
        else:
            answers = await self._store.settle(settlements)
        self.followed(settlements, answers)
        return answers

    async def _settle_in_jobs(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Settle tasks of jobs, and give what the store has leased to a claim that waits to that claim."""
        with self._takers.takers() as takers:
            answers = await self._store.settle(settlements, takers=takers)
        claims = [answer.effects.claim for answer in answers if isinstance(answer, Settled)]
        for claim in claims:
            if claim is not None and self.gave is not None:
                (nonce,) = {lease.nonce for lease in claim.leases}
                self.gave(next(taker for taker in takers if taker.nonce == nonce), claim)
        return answers

    def followed(self, settlements: Sequence[Settlement], answers: Sequence[Settled | Fenced]) -> None:
        """Follow what recorded settlements lead to. Returns at once."""
        self.effects.settled(settlements, answers)
        if queues := self.leases.take_limited(settlements):
            self._flow.freed(queues)

    def release(self, tasks: Sequence[ClaimedTask]) -> None:
        """Queue leased tasks again that no worker has begun; the attempts do not count. Returns at once."""
        releasing = asyncio.get_running_loop().create_task(self._release(tasks), name="release a claim")
        self._releases.add(releasing)
        releasing.add_done_callback(self._releases.discard)

    async def drained(self) -> None:
        """Wait until all releases are recorded."""
        if self._releases:
            await asyncio.wait(set(self._releases))

    async def _release(self, tasks: Sequence[ClaimedTask]) -> None:
        try:
            await self.record([Settlement(lease=task.lease, act=Act.RELEASE) for task in tasks])
        except Unavailable:
            return  # the reaper queues them again, since no worker holds them

    def _counted(self, decided: Sequence[Settlement], answers: Sequence[Settled | Fenced]) -> list[State | Fenced]:
        """Count refused reports and dead letters, and return the states in the answers."""
        states: list[State | Fenced] = []
        for settlement, answer in zip(decided, answers, strict=True):
            if isinstance(answer, Fenced):
                self._metrics.fenced.add()
                states.append(answer)
                continue
            if settlement.cause is not None:
                self._metrics.dead_lettered.add(1, (settlement.cause.reason.value,))
            states.append(answer.state)
        return states

    def decide(self, report: Report, lease_state: LeaseState | None) -> Settlement:
        """Return what follows from a report, given the failures and options of its task."""
        outcome = report.outcome
        if isinstance(outcome, Succeeded):  # first, and without a match: nearly all of them
            if len(outcome.result) <= self._limits.result:
                return Settlement(lease=report.lease, act=Act.COMPLETE, result=outcome.result)
            outcome = _too_large(self._limits.result)
        match outcome:
            case Failed() as failed:
                return self._decide_failure(report, failed, lease_state)
            case Snoozed(seconds=seconds):
                return Settlement(lease=report.lease, act=Act.SNOOZE, delay_ms=_bounded_ms(seconds))
            case Released():
                return Settlement(lease=report.lease, act=Act.RELEASE)
            case Stopped():
                return Settlement(lease=report.lease, act=Act.STOP)

    def _decide_failure(self, report: Report, failed: Failed, lease_state: LeaseState | None) -> Settlement:
        error = _cut(failed.error, self._limits.error)
        # Without a state the lease is not current: the store will refuse or recognise it, whatever we say here.
        if lease_state is None or failed.permanent or lease_state.failures >= lease_state.options.retries:
            cause = cause_of(error, Reason.PERMANENT if failed.permanent else Reason.RETRIES_EXHAUSTED)
            return Settlement(lease=report.lease, act=Act.FAIL, error=error, cause=cause)
        if failed.retry_after is not None:
            delay = _bounded_ms(failed.retry_after)
        else:
            delay = millis(lease_state.options.backoff.delay(lease_state.failures + 1, self._random))
        return Settlement(lease=report.lease, act=Act.BACK_OFF, delay_ms=delay, error=error)


def _too_large(largest: int) -> Failed:
    """Return what a success is whose result cannot be kept."""
    return Failed(ErrorInfo("ResultTooLarge", f"the result is more than {largest:,} bytes of JSON"), permanent=True)


def _bounded_ms(seconds: float) -> int:
    return round(min(max(seconds, 0.0), LONGEST_WAIT.total_seconds()) * 1000)


def _cut(error: ErrorInfo, largest: int) -> ErrorInfo:
    """Keep the start of the message and both ends of the traceback: where the first cause and the last frames are."""
    return ErrorInfo(error.kind[:255], error.message[:largest], shorten(error.traceback, largest))
