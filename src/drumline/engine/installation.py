"""Figures of the whole installation, the same at every API server: totals from the store, and its stock.

Prometheus reads these from schedulers, each event counted once. A client that asks an API server for one metric by its
name wants that of the installation, not of this process.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from drumline.core.clock import Clock
from drumline.core.errors import Unavailable
from drumline.core.metrics import Metrics
from drumline.core.shard_map import DIRECTORY
from drumline.engine.queue_metrics import update_queue_metrics
from drumline.ports.store import Store

FRESH_SECONDS: Final = 2.0
SHARE: Final = 50
"""How many times longer than it took to read them the figures are shown."""
LONGEST: Final = 300.0
READ_SECONDS: Final = 30.0


class InstallationMetrics:
    """Reads metrics of the installation on request, and caches them."""

    def __init__(self, stores: Callable[[], Mapping[str, Store]], clock: Clock) -> None:
        self._stores = stores
        """Returns the store of each shard, by its name."""
        self._clock = clock
        self._reading = asyncio.Lock()
        self._metrics: Metrics | None = None
        self._fresh_until = 0.0

    async def read(self) -> Metrics:
        """Return the figures; those of other processes, and of shards that are away, are not in it."""
        async with self._reading:
            began = self._clock.monotonic()
            if self._metrics is None or began >= self._fresh_until:
                self._metrics = await self._read()
                ended = self._clock.monotonic()
                self._fresh_until = ended + min(max(FRESH_SECONDS, SHARE * (ended - began)), LONGEST)
            return self._metrics

    async def _read(self) -> Metrics:
        metrics = Metrics(self._clock)
        async with asyncio.TaskGroup() as group:
            reading = {
                shard: group.create_task(self._read_shard(store, metrics.of_shard(shard)), name=f"metrics of {shard}")
                for shard, store in self._stores().items()
            }
        for shard, read in reading.items():
            if (error := read.result()) is not None:
                if shard == DIRECTORY:
                    raise error
                metrics.forget_shard(shard)
        return metrics

    async def _read_shard(self, store: Store, metrics: Metrics) -> Unavailable | TimeoutError | None:
        """Read the metrics of a shard; return why it could not be reached."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                for figure in await store.stats.total_stats():
                    metrics.count(figure)
                await update_queue_metrics(store, metrics, self._clock)
        except (Unavailable, TimeoutError) as error:
            return error
        return None
