"""Idle claimers, and how they are woken: one per task that arrives, longest waiting first, never the whole herd."""

import asyncio
from collections import deque


class Waiter:
    """One claimer that found nothing. Make it before the claim, so that no wake-up falls in between."""

    def __init__(self, queues: tuple[str, ...]) -> None:
        self.queues = queues
        self.woken = asyncio.Event()
        self.woken_for: str | None = None
        self.has_acted = False

    def serves(self, queue: str) -> bool:
        """Tell whether a task in `queue` may be for this claimer."""
        return not self.queues or queue in self.queues

    async def wait(self, seconds: float) -> None:
        """Wait to be woken, at most this long. The caller claims again either way, so a wake-up counts as used."""
        try:
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        except TimeoutError:
            pass  # a look without being called: the safety net
        self.has_acted = True


class Waiters:
    """Everyone in this process who waits for a task.

    `poll` is how long an idle claimer sleeps when nobody wakes it: the safety net under the wake-ups.
    """

    def __init__(self, *, poll: float = 1.0) -> None:
        self.poll = poll
        self._idle: deque[Waiter] = deque()

    def add(self, waiter: Waiter) -> None:
        """Let `waiter` be woken."""
        self._idle.append(waiter)

    def remove(self, waiter: Waiter) -> None:
        """Stop waking `waiter`.

        A wake-up that found it busy with a claim, whose answer may be older than the task, is passed on to another.
        """
        if waiter.woken_for is None:
            self._idle.remove(waiter)
        elif not waiter.has_acted:
            self.wake(waiter.woken_for, 1)

    def wake(self, queue: str, count: int) -> None:
        """Wake up to `count` claimers who serve `queue`."""
        kept: deque[Waiter] = deque()
        while self._idle and count > 0:
            waiter = self._idle.popleft()
            if waiter.serves(queue):
                waiter.woken_for = queue
                waiter.woken.set()
                count -= 1
            else:
                kept.append(waiter)
        self._idle.extendleft(reversed(kept))

    def wake_all(self) -> None:
        """Wake everyone: something changed that is not about one queue."""
        for waiter in self._idle:
            waiter.woken_for = ""
            waiter.woken.set()
        self._idle.clear()
