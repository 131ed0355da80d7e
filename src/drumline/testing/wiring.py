"""How the processes of a world reach their database, and wake each other: at once, unless a fault is due."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from drumline.core.clock import Clock, Instant
from drumline.core.errors import Unavailable
from drumline.ports.queue import Handed, Leased, Woken
from drumline.ports.store import Hint
from drumline.stores.no_queue import NoQueue
from drumline.testing.clock import EPOCH
from drumline.testing.loop import SimulatedProcess
from drumline.testing.world_loop import WorldLoop


class WorldClock(Clock):
    """The clock of a process: its measured time leaves out what the world skipped."""

    def __init__(self, loop: WorldLoop, *, skips: bool = True) -> None:
        self._loop = loop
        self._skips = skips

    def now(self) -> Instant:
        """Return wall time."""
        return Instant(round((EPOCH + self._loop.time()) * 1000))

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        loop = self._loop
        return loop.time() - loop.skipped if self._skips else loop.time()


class Faults(Protocol):
    """Decides what becomes of each message of a process."""

    def pass_message(self, process: SimulatedProcess, way: str) -> str | None:
        """Return the fault that hits a message on its `way`: `lost`, `killed`, or None."""
        ...


class WorldWire:
    """The way from a process to the database, without a delay."""

    def __init__(self, process: SimulatedProcess, faults: Faults) -> None:
        self._process = process
        self._faults = faults

    async def send(self) -> None:
        """Bring a request there."""
        await self._pass("request")

    async def receive(self) -> None:
        """Bring the answer back."""
        await self._pass("reply")

    async def _pass(self, way: str) -> None:
        fault = self._faults.pass_message(self._process, way)
        if fault == "killed":
            await asyncio.get_running_loop().create_future()  # a dead process does not go on
        if fault == "lost":
            raise Unavailable(f"the {way} was lost")


class ReliableWire:
    """The way of the world's own requests, which meet no faults."""

    async def send(self) -> None:
        """Bring a request there."""

    async def receive(self) -> None:
        """Bring the answer back."""


class WakeUps:
    """The processes that hear each other's wake-ups."""

    def __init__(self) -> None:
        self.listeners: dict[object, Woken] = {}

    def wake(self, queue: str, count: int, *, but: object = None) -> None:
        """Wake claimers of every process but one."""
        for key, woken in list(self.listeners.items()):
            if key is not but:
                woken(queue, count)


class WakingQueue(NoQueue):
    """Keeps no hints, and wakes the other processes at once, as PostgreSQL's notifications do."""

    def __init__(self, wake_ups: WakeUps, key: object) -> None:
        self._wake_ups = wake_ups
        self._key = key

    @property
    def carries_signals(self) -> bool:
        """Carry signals."""
        return True

    async def push(self, hints: Sequence[Hint]) -> bool:
        """Wake those who wait elsewhere."""
        await self.tell(hints)
        return False

    async def tell(self, hints: Sequence[Hint]) -> None:
        """Wake those who wait elsewhere."""
        for queue, count in Counter(hint.lane.queue for hint in hints).items():
            self._wake_ups.wake(queue, count, but=self._key)

    async def signal(self, word: str) -> None:
        """Reach the other processes."""
        self._wake_ups.wake(word, 0, but=self._key)

    async def listen(self, woken: Woken, handed: Handed | None = None, leased: Leased | None = None) -> None:
        """Hear of the other processes until cancelled."""
        del handed, leased
        self._wake_ups.listeners[self._key] = woken
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._wake_ups.listeners.pop(self._key, None)
