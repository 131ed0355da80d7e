"""Waiting for tasks to end: told at once by this process, found by looking when another process ended them."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from drumline.core.ids import TaskId


class Endings:
    """Who waits for which task here."""

    def __init__(self) -> None:
        self._watched: defaultdict[TaskId, set[asyncio.Event]] = defaultdict(set)

    def ended(self, tasks: Sequence[TaskId]) -> None:
        """Tell those who wait that these tasks may have ended: a cue to look, not a fact."""
        if not self._watched:
            return
        for task in tasks:
            for event in self._watched.get(task, ()):
                event.set()

    async def wait(self, task: TaskId, seconds: float) -> None:
        """Wait for a cue about a task, at most this long."""
        event = asyncio.Event()
        self._watched[task].add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
        finally:
            self._watched[task].discard(event)
            if not self._watched[task]:
                del self._watched[task]
