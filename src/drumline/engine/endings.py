"""Waiting for tasks and jobs to end: told at once by this process, found by looking when another process ended them."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable


class Endings:
    """Callers of this process that wait for the end of a task or job."""

    def __init__(self) -> None:
        self._watched: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def ended(self, ids: Iterable[str]) -> None:
        """Wake callers that wait for these: they may have ended, and the callers look."""
        if not self._watched:
            return
        for each in ids:
            for event in self._watched.get(each, ()):
                event.set()

    async def wait(self, id: str, seconds: float) -> None:
        """Wait for a cue about a task or job, at most this long."""
        await self.wait_for_any((id,), seconds)

    async def wait_for_any(self, ids: Collection[str], seconds: float) -> None:
        """Wait for a cue about any of some tasks or jobs, at most this long."""
        event = asyncio.Event()
        for each in ids:
            self._watched[each].add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
        finally:
            for each in ids:
                self._watched[each].discard(event)
                if not self._watched[each]:
                    del self._watched[each]
