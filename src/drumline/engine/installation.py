"""Figures of the whole installation, the same at every API server: totals from the store, and its stock.

Prometheus reads these from schedulers, each event counted once. A client that asks an API server for one metric by its
name wants that of the installation, not of this process.
"""

import asyncio
from typing import Final

from drumline.core.clock import Clock
from drumline.core.metrics import Metrics
from drumline.engine.queue_metrics import update_queue_metrics
from drumline.ports.store import Store

FRESH_SECONDS: Final = 2.0
SHARE: Final = 50
"""How many times longer than it took to read them the figures are shown."""
LONGEST: Final = 300.0
READ_SECONDS: Final = 30.0


class InstallationMetrics:
    """Reads metrics of the installation on request, and caches them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._reading = asyncio.Lock()
        self._metrics: Metrics | None = None
        self._fresh_until = 0.0

    async def read(self) -> Metrics:
        """Return the figures; those of other processes are not in it."""
        async with self._reading:
            began = self._clock.monotonic()
            if self._metrics is None or began >= self._fresh_until:
                async with asyncio.timeout(READ_SECONDS):
                    self._metrics = await self._read()
                ended = self._clock.monotonic()
                self._fresh_until = ended + min(max(FRESH_SECONDS, SHARE * (ended - began)), LONGEST)
            return self._metrics

    async def _read(self) -> Metrics:
        metrics = Metrics(self._clock)
        for figure in await self._store.stats.total_stats():
            metrics.count(figure)
        await update_queue_metrics(self._store, metrics, self._clock)
        return metrics
