"""Beats: say what is held, hear what was lost or should stop, and fence oneself when nobody answers."""

import asyncio
import logging

from drumline.core.clock import Clock
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.lease import Lease
from drumline.core.session import Beat, BeatReply
from drumline.ports.gateway import Gateway
from drumline.worker.holdings import Holdings
from drumline.worker.link import Link
from drumline.worker.settings import WorkerSettings
from drumline.worker.stopping import StopReason

_log = logging.getLogger("drumline.worker")


class Beats:
    """The heart of one session.

    The leases are this worker's for one TTL after the last acknowledged beat was *sent*. The reaper counts from its
    arrival, so a worker that is cut off stops its attempts before anybody else may start them.
    """

    def __init__(
        self,
        gateway: Gateway,
        link: Link,
        holdings: Holdings,
        settings: WorkerSettings,
        *,
        clock: Clock,
    ) -> None:
        self._gateway = gateway
        self._link = link
        self._holdings = holdings
        self._settings = settings
        self._clock = clock
        self.lost = asyncio.Event()
        """Set when the session is over: whatever was held in it is somebody else's."""
        self.asked_to_drain = asyncio.Event()

    async def run(self, session: SessionId, *, opened: float) -> None:
        """Beat until the session is lost or this is cancelled; `opened` is when opening it was asked for."""
        acknowledged = opened
        pause = self._settings.beat_every
        while not self.lost.is_set():
            await asyncio.sleep(max(0.0, min(pause, self._left(acknowledged))))
            sent = self._clock.monotonic()
            try:
                async with asyncio.timeout(max(self._left(acknowledged), 0.001)):
                    await self.pass_once(session)
            except Exception as error:  # noqa: BLE001 - whatever the gateway raises, the beat was not acknowledged
                pause = min(self._link.failed(error), self._settings.beat_every)
                if self._left(acknowledged) <= 0:
                    self._lose(session, f"no beat was acknowledged for {self._settings.session_ttl:g} s")
            else:
                self._link.answered()
                acknowledged = sent
                pause = self._settings.beat_every

    async def pass_once(self, session: SessionId) -> BeatReply:
        """Send one beat and do what the answer says."""
        held = self._holdings.leases(session)
        reply = await self._gateway.beat(Beat(session=session, held=held))
        if not reply.is_open:
            self._lose(session, "the engine has closed it")
            return reply
        if reply.lost:
            self._stop(held, reply.lost, StopReason.LOST)
        if reply.cancelled:
            self._stop(held, reply.cancelled, StopReason.CANCELLED)
        if reply.should_drain:
            self.asked_to_drain.set()
        return reply

    def _left(self, acknowledged: float) -> float:
        return acknowledged + self._settings.session_ttl - self._clock.monotonic()

    def _lose(self, session: SessionId, why: str) -> None:
        _log.warning("session.lost: %s: %s", session_text(session), why)
        for lease in self._holdings.leases(session):
            self._stop_one(lease, StopReason.LOST)
        self.lost.set()

    def _stop(self, held: tuple[Lease, ...], tasks: tuple[TaskId, ...], reason: StopReason) -> None:
        named = frozenset(tasks)
        # Of two leases on one task the older is on its way out: its report is being acknowledged just now. If one is
        # lost it is that one; so the younger is stopped only if it is the only one, or on a cancellation.
        for lease in sorted((lease for lease in held if lease.task in named), key=lambda lease: lease.epoch):
            if lease.task in named:
                self._stop_one(lease, reason)
            if reason is StopReason.LOST:
                named -= {lease.task}

    def _stop_one(self, lease: Lease, reason: StopReason) -> None:
        attempt = self._holdings.get(lease)
        if attempt is not None:
            attempt.stop(reason)
