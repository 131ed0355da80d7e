"""Take stock: how much waits and for how long, which workers there are, and how far the log has been passed on.

Counting all that is not ended looks at much of a table, so it is done now and then by schedulers and never when
Prometheus reads the figures, and the longer it takes the less often: a hundredth of the time goes into it at most.
Several schedulers take the same stock.
"""

import asyncio
from typing import Final

from drumline.core.clock import Clock
from drumline.core.metrics import Metrics
from drumline.engine.queue_metrics import update_queue_metrics
from drumline.ports.store import Store

SHARE: Final = 100
"""How many times longer than it took the next one is put off."""
LONGEST_PAUSE: Final = 300.0
PASS_SECONDS: Final = 90.0


class QueueMetrics:
    """Keeps the gauges of the whole system."""

    name = "take stock"

    def __init__(self, store: Store, metrics: Metrics, *, clock: Clock, every: float = 5.0) -> None:
        self.every = every
        self._usually_every = every
        self._store = store
        self._metrics = metrics
        self._clock = clock

    async def pass_once(self) -> int:
        """Look at everything once, and return how many queues there are."""
        began = self._clock.monotonic()
        async with asyncio.timeout(PASS_SECONDS):
            queues = await update_queue_metrics(self._store, self._metrics, self._clock)
        took = self._clock.monotonic() - began
        self.every = min(max(self._usually_every, took * SHARE), LONGEST_PAUSE)
        return queues
