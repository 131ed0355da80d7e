"""Expire: cancel tasks that have not started by the time that was set for them.

A task that is claimed too late is cancelled by its claim (`engine/claim.py`), so a late pass lets nothing run; it only
lets an expired task be shown as waiting for longer.
"""

import structlog

from drumline.engine.engine import Engine

BATCH = 1000
MOST_BATCHES = 20
"""Batches in one pass; what is left waits for the next one, so that a pass has an end."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Expirer:
    """Cancels expired tasks."""

    name = "expire"

    def __init__(self, engine: Engine, *, every: float = 1.0, batch: int = BATCH) -> None:
        self.every = every
        self._engine = engine
        self._batch = batch

    async def pass_once(self) -> int:
        """Cancel what has expired, and return how many tasks that were."""
        cancelled = 0
        expiry = self._engine.store.expiry
        for _ in range(MOST_BATCHES):
            due = await expiry.due_expiries(limit=self._batch)
            ended = await self._engine.control.expire(due.waiting)
            if done := [*due.over, *ended]:
                await expiry.forget_expiries(done)
            cancelled += len(ended)
            if len(done) < self._batch:
                break
        if cancelled:
            log.info("tasks.expired", tasks=cancelled)
        return cancelled
