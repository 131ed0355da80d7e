"""Runs the garbage collector in small steps in a server with many connections.

Python starts it when so many more objects were made than freed. Then it goes through everything that was made since its
last run and is still there: in a server where thousands of workers wait, whose requests come and go in equal numbers,
that is all of their requests. It took up to a second, in which the server stood still, and found next to nothing. Ten
times a second it goes through what is new, which takes a millisecond; and through all there is, which takes some
hundred milliseconds, only now and then.
"""

import asyncio
import gc
from collections.abc import Callable, Sized
from typing import Final

STEP_SECONDS: Final = 0.1
MIDDLE_EVERY: Final = 5
"""Steps after which the objects that survived them are looked at once more."""
FULL_EVERY: Final = 6_000
"""Steps after which all objects are looked at: what closed connections leave is found by nothing else."""
MANY: Final = 200
"""Connections from which on this is worth while; with fewer Python's own way is good."""
NEVER: Final = 1_000_000_000


class PacedCollector:
    """Runs the garbage collector by the clock while there are many connections."""

    def __init__(self, connections: Sized, *, collect: Callable[[int], int] = gc.collect) -> None:
        self._connections = connections
        self._collect = collect
        self._thresholds = gc.get_threshold()
        self._steps = 0

    async def run(self) -> None:
        """Take steps until cancelled; then the collector runs as it did before."""
        try:
            while True:
                await asyncio.sleep(STEP_SECONDS)
                self.step()
        finally:
            self._leave()

    def step(self) -> None:
        """Look at what is new, if there are many connections and the collector is not switched off."""
        if len(self._connections) < MANY or not gc.isenabled():
            self._leave()
            return
        if not self._steps:
            gc.set_threshold(*self._thresholds[:2], NEVER)  # the last is for all objects
        self._steps += 1
        if self._steps % FULL_EVERY == 0:
            self._collect(2)
        else:
            self._collect(1 if self._steps % MIDDLE_EVERY == 0 else 0)

    def _leave(self) -> None:
        if self._steps:
            self._steps = 0
            gc.set_threshold(*self._thresholds)
