"""Telling workers soon that attempts should stop: a signal says that something was cancelled, the store says what.

Beats tell the same every few seconds. So a signal may be lost, doubled or for nothing.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from drumline.aio.events import wait_for
from drumline.core.errors import Unavailable
from drumline.core.lease import Lease
from drumline.core.session import Stops
from drumline.ports.execution import LeaseState
from drumline.ports.queue import Queue, Woken

WORD: Final = "!stop"
"""The signal. No queue can have this name: to a process of an older version it is a wake-up for nothing."""
LOOK_EVERY: Final = 0.5
"""Seconds between looks where no signal of another process can be heard."""
APART: Final = 0.1
"""Seconds between two signals: what is cancelled meanwhile goes with the next."""

NO_STOPS: Final = Stops()


class LeaseStore(Protocol):
    """The part of a store that knows leases."""

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return the state of each leased task; None for a lease that is not current."""
        ...


class StopSignals:
    """Signals cancellations to the processes that run the tasks."""

    def __init__(self, store: LeaseStore, queue: Queue) -> None:
        self._store = store
        self._queue = queue
        self._signalled = asyncio.Event()
        self._is_pending = False
        self._sending: asyncio.Task[None] | None = None

    def announce(self) -> None:
        """Tell every worker, here and in other processes, that something was cancelled. Returns at once."""
        self._heard()
        self._is_pending = True
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send(), name="signal stops")

    def hearing(self, woken: Woken) -> Woken:
        """Return what to call for wake-ups of other processes: signals are taken out, the others go to `woken`."""

        def heard(queue: str, count: int) -> None:
            if queue == WORD:
                self._heard()
            else:
                woken(queue, count)

        return heard

    async def wait(self, held: Sequence[Lease], *, seconds: float) -> Stops:
        """Return which attempts should stop, waiting until there are some or a signal came."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            signalled = self._signalled
            if stops := await self._look(held):
                return stops
            left = deadline - loop.time()
            if left <= 0:
                return NO_STOPS
            if await wait_for(signalled, within=left if self._queue.carries_signals else min(left, LOOK_EVERY)):
                return await self._look(held)

    async def drained(self) -> None:
        """Wait until the last signal is sent."""
        while self._sending is not None:
            await asyncio.wait({self._sending})

    async def _look(self, held: Sequence[Lease]) -> Stops:
        if not held:
            return NO_STOPS
        found = list(zip(held, await self._store.lease_states(held), strict=True))
        return Stops(
            lost=tuple(lease.task for lease, at in found if at is None),
            cancelled=tuple(lease.task for lease, at in found if at is not None and at.cancel_requested),
        )

    def _heard(self) -> None:
        signalled, self._signalled = self._signalled, asyncio.Event()
        signalled.set()

    async def _send(self) -> None:
        try:
            while self._is_pending:
                self._is_pending = False
                try:
                    await self._queue.signal(WORD)
                except Unavailable:
                    return  # beats will tell
                await asyncio.sleep(APART)
        finally:
            self._sending = None
