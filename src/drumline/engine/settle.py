"""Recording how attempts ended. The worker reports; here it is decided what follows; the store writes it."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.duration import millis
from drumline.core.ends import keep_ends
from drumline.core.errors import Fenced
from drumline.core.lease import Lease
from drumline.core.limits import Limits
from drumline.core.metrics import Metrics
from drumline.core.outcome import ErrorInfo, Failed, Released, Snoozed, Stopped, Succeeded
from drumline.core.state import Act, State
from drumline.engine.endings import Endings
from drumline.engine.offer import Offers
from drumline.ports.gateway import Report, weight_of
from drumline.ports.store import Settled, Settlement, Standing

LONGEST_WAIT = timedelta(days=366)


class SettleStore(Protocol):
    """What is asked of the store here."""

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands; None for a lease that is not current."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        ...


class Settlements:
    """The way back from workers."""

    def __init__(
        self,
        store: SettleStore,
        offers: Offers,
        endings: Endings,
        *,
        random: Callable[[], float],
        limits: Limits,
        parallel: int = 1,
    ) -> None:
        self._store = store
        self._offers = offers
        self._endings = endings
        self._random = random
        self._limits = limits
        self._batcher: Batcher[Report, State | Fenced] = Batcher(
            self._flush,
            name="settlements",
            largest=500,
            parallel=parallel,
            weights=BatchWeights(weight_of),
        )
        self.measure(Metrics())

    def measure(self, metrics: Metrics) -> None:
        """Count in these figures; to be called before use."""
        self._metrics = metrics
        self._batcher.meter = metrics.batch.of("settlements")

    async def settle(self, reports: Sequence[Report]) -> list[State | Fenced]:
        """Record ends of attempts; each gets the task's state after it, or `Fenced`."""
        return await self._batcher.join_many(reports)

    async def _flush(self, reports: list[Report]) -> list[State | Fenced]:
        failed = [report.lease for report in reports if isinstance(report.outcome, Failed)]
        standings = dict(zip(failed, await self._store.standing(failed), strict=True)) if failed else {}
        decided = [self.decide(report, standings.get(report.lease) if standings else None) for report in reports]
        states = self._settled(decided, await self._store.settle(decided))
        self._endings.ended(report.lease.task for report in reports)
        return states

    def _settled(self, decided: Sequence[Settlement], answers: Sequence[Settled | Fenced]) -> list[State | Fenced]:
        """Count and offer what the answers say, and return the states in them."""
        states: list[State | Fenced] = []
        hints = []
        for settlement, answer in zip(decided, answers, strict=True):
            if isinstance(answer, Fenced):
                self._metrics.fenced.add()
                states.append(answer)
                continue
            if settlement.cause is not None:
                self._metrics.dead_lettered.add(1, (settlement.cause.reason.value,))
            if answer.hint is not None:
                hints.append(answer.hint)
            states.append(answer.state)
        self._offers.offer(hints)
        return states

    def decide(self, report: Report, standing: Standing | None) -> Settlement:
        """Return what follows from a report, given where its task stands."""
        outcome = report.outcome
        if isinstance(outcome, Succeeded):  # first, and without a match: nearly all of them
            if len(outcome.result) <= self._limits.result:
                return Settlement(lease=report.lease, act=Act.COMPLETE, result=outcome.result)
            outcome = _too_large(self._limits.result)
        match outcome:
            case Failed() as failed:
                return self._decide_failure(report, failed, standing)
            case Snoozed(seconds=seconds):
                return Settlement(lease=report.lease, act=Act.SNOOZE, delay_ms=_bounded_ms(seconds))
            case Released():
                return Settlement(lease=report.lease, act=Act.RELEASE)
            case Stopped():
                return Settlement(lease=report.lease, act=Act.STOP)

    def _decide_failure(self, report: Report, failed: Failed, standing: Standing | None) -> Settlement:
        error = _cut(failed.error, self._limits.error)
        # Without a standing the lease is not current: the store will refuse or recognise it, whatever we say here.
        if standing is None or failed.permanent or standing.failures >= standing.options.retries:
            cause = cause_of(error, Reason.PERMANENT if failed.permanent else Reason.RETRIES_EXHAUSTED)
            return Settlement(lease=report.lease, act=Act.FAIL, error=error, cause=cause)
        if failed.retry_after is not None:
            delay = _bounded_ms(failed.retry_after)
        else:
            delay = millis(standing.options.backoff.delay(standing.failures + 1, self._random))
        return Settlement(lease=report.lease, act=Act.BACK_OFF, delay_ms=delay, error=error)


def _too_large(largest: int) -> Failed:
    """Return what a success is whose result cannot be kept."""
    return Failed(ErrorInfo("ResultTooLarge", f"the result is more than {largest:,} bytes of JSON"), permanent=True)


def _bounded_ms(seconds: float) -> int:
    return round(min(max(seconds, 0.0), LONGEST_WAIT.total_seconds()) * 1000)


def _cut(error: ErrorInfo, largest: int) -> ErrorInfo:
    """Keep the start of the message and both ends of the traceback: where the first cause and the last frames are."""
    return ErrorInfo(error.kind[:255], error.message[:largest], keep_ends(error.traceback, largest))
