"""Reporting how attempts ended: joined into batches, repeated until the engine has acknowledged each one."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.core.errors import DrumlineError, Fenced, Invalid, Unavailable
from drumline.core.lease import Lease
from drumline.core.metrics import Metrics
from drumline.core.outcome import ErrorInfo, Failed, Outcome
from drumline.ports.gateway import Acknowledged, Gateway, Report, weight_of
from drumline.worker.gateway_retry import GatewayRetry
from drumline.worker.held_attempts import HeldAttempts

SETTLE_SECONDS: Final = 30.0
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 2.0
"""Seconds between two tries of a report whose shard is away."""

Flush = Callable[[list[Report]], Awaitable[Sequence[Acknowledged]]]

_log = logging.getLogger("drumline.worker")


class Reporter:
    """Sends outcomes of attempts to the engine; an attempt is held until its report is acknowledged."""

    def __init__(
        self, gateway: Gateway, retry: GatewayRetry, held_attempts: HeldAttempts, metrics: Metrics, *, largest: int
    ) -> None:
        self._attempts = metrics.attempts
        self._attempts.begin(("succeeded",), ("failed",), ("released",))
        self._gateway = gateway
        self._retry = retry
        self._held_attempts = held_attempts
        self._pause = FIRST_PAUSE
        self._batcher = self._batched(self._flush, "reports", largest)
        self._batcher.meter = metrics.batch.of("reports")
        # Apart from the others, which must not wait for a shard that is away.
        self._repeats = self._batched(self._repeat, "repeated reports", largest)

    def _batched(self, flush: Flush, name: str, largest: int) -> Batcher[Report, Acknowledged]:
        batcher: Batcher[Report, Acknowledged] = Batcher(
            flush, name=name, largest=largest, most_waiting=1_000_000, weights=BatchWeights(weight_of)
        )
        batcher.told = self._acknowledged
        return batcher

    def resize(self, largest: int) -> None:
        """Send more or fewer reports together from now on."""
        self._batcher.resize(largest)
        self._repeats.resize(largest)

    async def report(self, lease: Lease, outcome: Outcome) -> Acknowledged:
        """Return how the outcome was taken; `Fenced` if the lease was not current."""
        report = Report(lease, outcome)
        answer = await self._batcher.join(report)
        while isinstance(answer, Unavailable):
            if self._retry.is_stopped:
                raise answer
            answer = await self._repeats.join(report)
        return answer

    def send(self, lease: Lease, outcome: Outcome) -> None:
        """Report without waiting; the attempt is dropped when the report is acknowledged."""
        self._batcher.send(Report(lease, outcome))

    def _acknowledged(
        self, reports: Sequence[Report], answers: Sequence[Acknowledged], error: BaseException | None
    ) -> None:
        if [1 for answer in answers if isinstance(answer, Unavailable)] and not self._retry.is_stopped:
            reports, answers = self._repeated(reports, answers)
        self._held_attempts.drop(*[report.lease for report in reports])
        if isinstance(error, asyncio.CancelledError):
            return
        if error is not None:
            for report in reports:
                _log.warning("report.given_up: task %s: %s", report.lease.task, error)
        for report, answer in zip(reports, answers, strict=False):
            if isinstance(answer, Fenced):
                _log.warning("report.fenced: task %s was taken over by another attempt", report.lease.task)
            elif isinstance(answer, Unavailable):
                _log.warning("report.given_up: task %s: %s", report.lease.task, answer)

    def _repeated(
        self, reports: Sequence[Report], answers: Sequence[Acknowledged]
    ) -> tuple[list[Report], list[Acknowledged]]:
        """Send reports again whose shard is away; return the others and their answers."""
        done: list[Report] = []
        told: list[Acknowledged] = []
        for report, answer in zip(reports, answers, strict=True):
            if isinstance(answer, Unavailable):
                self._repeats.send(report)
            else:
                done.append(report)
                told.append(answer)
        return done, told

    async def _repeat(self, reports: list[Report]) -> Sequence[Acknowledged]:
        """Send reports again whose shard was away, after a pause that grows while it is."""
        await self._retry.pause(self._pause)
        answers = await self._flush(reports)
        is_away = any(isinstance(answer, Unavailable) for answer in answers)
        self._pause = min(2 * self._pause, LONGEST_PAUSE) if is_away else FIRST_PAUSE
        return answers

    async def _flush(self, reports: list[Report]) -> Sequence[Acknowledged]:
        try:
            answers = await self._settle(reports)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one bad report must not hold up its neighbours
            if len(reports) == 1:
                return [await self._settle_refused(reports[0], error)]
            return [(await self._flush([report]))[0] for report in reports]
        kinds = [
            report.outcome.__class__
            for report, answer in zip(reports, answers, strict=True)
            if not isinstance(answer, Unavailable)
        ]
        for outcome, count in Counter(kinds).items():
            self._attempts.add(count, (outcome.__name__.lower(),))
        return answers

    async def _settle(self, reports: list[Report]) -> Sequence[Acknowledged]:
        # Repeating is safe: the same settlement gets the first answer again.
        return await self._retry.call(partial(self._ask, reports), seconds=SETTLE_SECONDS)

    async def _ask(self, reports: list[Report]) -> Sequence[Acknowledged]:
        try:
            return await self._gateway.settle(reports)
        except (Invalid, Unavailable):
            raise
        except DrumlineError as error:
            # A key that is being changed, a proxy without its server: that says nothing about the outcomes, and an
            # attempt that has succeeded must not be failed for it.
            raise Unavailable(f"{type(error).__name__}: {error}") from error

    async def _settle_refused(self, report: Report, error: Exception) -> Acknowledged:
        """Fail a task whose outcome the engine will not take, so that it does not stay running for ever."""
        _log.error("report.refused: task %s: %s", report.lease.task, error)
        info = ErrorInfo("OutcomeRefused", f"the engine did not take the outcome: {error}")
        try:
            (answer,) = await self._settle([Report(report.lease, Failed(info, permanent=True))])
        except Exception as again:  # noqa: BLE001 - nothing is left to try; the engine will release the lease
            return Fenced(f"the outcome was refused twice: {again}")
        return answer
