"""Offering tasks that the store has queued: a hint to the queue, a wake-up to those who wait here."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Final

from drumline.engine.flow import FlowLimits
from drumline.engine.waiting import Waiters
from drumline.ports.queue import Queue
from drumline.ports.store import Hint

AT_ONCE: Final = 1000
"""Hints pushed in one go: of thousands, the first should not wait for the last."""


class Offers:
    """Pushes hints in the background, so that no caller waits for them and none fails with them."""

    def __init__(self, queue: Queue, waiters: Waiters, flow: FlowLimits) -> None:
        self._queue = queue
        self._flow = flow
        self.waiters = waiters
        self._pushes: set[asyncio.Task[None]] = set()

    def offer(self, hints: Sequence[Hint]) -> None:
        """Let workers know of these tasks. Returns at once."""
        if not hints:
            return
        self._start(self._push(hints))

    def move(self, hints: Sequence[Hint]) -> None:
        """Offer tasks that may have been offered in another lane before. Returns at once."""
        if hints:
            self._start(self._move(hints))

    async def drained(self) -> None:
        """Wait for the pushes under way."""
        if self._pushes:
            await asyncio.wait(set(self._pushes))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        push = asyncio.get_running_loop().create_task(work, name="push hints")
        self._pushes.add(push)
        push.add_done_callback(self._pushes.discard)

    async def _move(self, hints: Sequence[Hint]) -> None:
        await self._queue.drop([hint.task for hint in hints])
        await self._push(hints)

    async def _push(self, hints: Sequence[Hint]) -> None:
        for start in range(0, len(hints), AT_ONCE):
            some = hints[start : start + AT_ONCE]
            free, limited = self._flow.split(some)
            if free and await self._queue.push(free) and not limited:
                continue  # a lone one, and it is on its way to the one who will run it
            if limited:  # there are no hints for them: the store chooses among them, and finds which may start
                await self._queue.tell(limited)
            if self.waiters.are_any:
                for queue, count in Counter(hint.lane.queue for hint in some).items():
                    self.waiters.wake(queue, count)
