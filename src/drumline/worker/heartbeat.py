"""Sends heartbeats with the held leases, and stops attempts whose leases are lost or whose tasks were cancelled.

While the engine does not answer, attempts go on: without the store no other worker can claim their tasks, and after it
is back every session has time to beat before it is reaped, so the work is not lost. A worker that is cut off alone
cannot tell the difference; its tasks begin elsewhere after a TTL, and the store refuses its reports. Therefore there is
a limit: after a long silence the attempts are stopped and, should their leases still hold when the engine is back,
released.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from drumline.core.clock import Clock
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.lease import Lease
from drumline.core.session import NO_USAGE, Beat, BeatReply, Usage
from drumline.ports.gateway import Gateway
from drumline.worker.gateway_retry import GatewayRetry
from drumline.worker.held_attempts import HeldAttempts
from drumline.worker.options import WorkerOptions
from drumline.worker.stop_reason import StopReason
from drumline.worker.usage import UsageMeter

ANSWER_SECONDS: Final = 4.0
"""Timeout of one heartbeat. A TTL must leave time for a second one if a dead connection loses the first."""

_log = logging.getLogger("drumline.worker")


class Heartbeat:
    """Sends the heartbeats of one session."""

    def __init__(
        self,
        gateway: Gateway,
        retry: GatewayRetry,
        held_attempts: HeldAttempts,
        options: WorkerOptions,
        *,
        clock: Clock,
        meter: UsageMeter | None = None,
    ) -> None:
        self._gateway = gateway
        self._retry = retry
        self._held_attempts = held_attempts
        self._options = options
        self._clock = clock
        self._meter = meter
        self.lost = asyncio.Event()
        """Set when the session has ended: its tasks may run in other workers."""
        self.asked_to_drain = asyncio.Event()
        self.may_stay = asyncio.Event()
        """Set after each beat whose answer does not ask to drain, so that a request that was undone is noticed."""
        self._is_unanswered = False
        """Whether the last beat was not answered, as far as is known."""

    async def run(self, session: SessionId) -> None:
        """Send heartbeats until the session is lost or this is cancelled."""
        answered = self._clock.monotonic()
        pause = self._options.beat_every
        while not self.lost.is_set():
            await asyncio.sleep(pause)
            usage = NO_USAGE if self._meter is None else await self._meter.measure()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self.pass_once(session, usage)
            except Exception as error:  # noqa: BLE001 - whatever the gateway raises, the beat was not acknowledged
                pause = min(self._retry.note_failure(error), self._options.beat_every)
                silence = self._clock.monotonic() - answered
                if silence >= self._options.longest_silence:
                    self._lose(session, f"no beat was answered for {silence:.0f} s", StopReason.RELEASED)
            else:
                self._retry.note_answer()
                answered = self._clock.monotonic()
                pause = self._options.beat_every

    async def pass_once(self, session: SessionId, usage: Usage = NO_USAGE) -> BeatReply:
        """Send one heartbeat and apply the reply."""
        held = self._held_attempts.leases(session)
        again, self._is_unanswered = self._is_unanswered, True
        reply = await self._gateway.beat(Beat(session=session, held=held, usage=usage, again=again))
        self._is_unanswered = False
        if not reply.is_open:
            self._lose(session, "the engine has closed it", StopReason.LOST)
            return reply
        self.stop(held, reply.lost, reply.cancelled)
        if reply.should_drain:
            self.asked_to_drain.set()
            self.may_stay.clear()
        else:
            self.asked_to_drain.clear()
            self.may_stay.set()
        return reply

    def stop(self, held: Sequence[Lease], lost: tuple[TaskId, ...], cancelled: tuple[TaskId, ...]) -> None:
        """Stop attempts whose leases are lost or whose tasks were cancelled."""
        if lost:
            self._stop(held, lost, StopReason.LOST)
        if cancelled:
            self._stop(held, cancelled, StopReason.CANCELLED)

    def _lose(self, session: SessionId, why: str, reason: StopReason) -> None:
        _log.warning("session.lost: %s: %s", session_text(session), why)
        for lease in self._held_attempts.leases(session):
            self._stop_one(lease, reason)
        self.lost.set()

    def _stop(self, held: Sequence[Lease], tasks: tuple[TaskId, ...], reason: StopReason) -> None:
        named = frozenset(tasks)
        # Of two leases on one task the older is on its way out: its report is being acknowledged just now. If one is
        # lost it is that one; so the younger is stopped only if it is the only one, or on a cancellation.
        for lease in sorted((lease for lease in held if lease.task in named), key=lambda lease: lease.epoch):
            if lease.task in named:
                self._stop_one(lease, reason)
            if reason is StopReason.LOST:
                named -= {lease.task}

    def _stop_one(self, lease: Lease, reason: StopReason) -> None:
        attempt = self._held_attempts.get(lease)
        if attempt is not None:
            attempt.stop(reason)
