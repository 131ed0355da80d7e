"""Stores delivery reports in batches, and repeats a write that the store did not take."""

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog

from drumline.aio.batcher import Batcher
from drumline.core.delivery import DeliveryReport, DeliveryState
from drumline.core.errors import DrumlineError
from drumline.core.metrics import Metrics
from drumline.ports.notifications import Deliveries

PAUSES: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each repetition of a write; in all less than the lease spare of the senders."""
RECORD_SECONDS: Final = 15.0

_OUTCOMES: Final = {
    DeliveryState.DELIVERED: "delivered",
    DeliveryState.PENDING: "put_off",
    DeliveryState.FAILED: "failed",
}

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class DeliveryRecorder:
    """Stores the reports of one notifier, which holds the deliveries' leases as `holder`."""

    def __init__(self, store: Deliveries, *, holder: int, metrics: Metrics | None = None) -> None:
        self._metrics = metrics or Metrics()
        self.holder = holder
        self._store = store
        self._batcher: Batcher[DeliveryReport, None] = Batcher(self._write, name="delivery reports", largest=200)

    async def record(self, reports: Sequence[DeliveryReport], *, kind: str) -> None:
        """Store reports. If the store stays unavailable they are lost, and the deliveries are tried again."""
        for report in reports:
            self._metrics.deliveries.add(1, (kind, _OUTCOMES[report.state]))
            self._metrics.delivery.observe((report.latency_ms or 0) / 1000, (kind,))
        for pause in (*PAUSES, None):
            try:
                await self._batcher.join_many(reports)
            except (DrumlineError, TimeoutError) as error:
                if pause is None:
                    log.warning("delivery.unrecorded", deliveries=len(reports), error=str(error))
                    return
                await asyncio.sleep(pause)
            else:
                return

    async def _write(self, reports: list[DeliveryReport]) -> list[None]:
        async with asyncio.timeout(RECORD_SECONDS):
            await self._store.record_deliveries(reports, holder=self.holder)
        return [None] * len(reports)
