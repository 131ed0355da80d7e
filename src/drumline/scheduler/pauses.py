"""Pauses: keep the queues paused that the configuration names, and resume them once it does not any more.

They are paused as an operator would pause them, so everybody who asks finds them paused, and why. A queue that an
operator has paused stays the operator's.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import structlog

from drumline.core.task import DEFAULT_TENANT
from drumline.engine.control import TaskControl
from drumline.engine.incomplete import noting_missing
from drumline.ports.store import Store

REASON: Final = "paused by the configuration (pauses.queues)"
ANSWER_SECONDS: Final = 10.0
TENANTS_AT_ONCE: Final = 1000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class PauseKeeper:
    """Makes what is paused what should be."""

    name = "pauses"

    def __init__(
        self, store: Store, control: TaskControl, *, queues: Callable[[], frozenset[str]], every: float = 1.0
    ) -> None:
        self.every = every
        self._store = store
        self._control = control
        self._queues = queues
        self._kept: frozenset[str] | None = None
        """What was last named; nothing before the first pass, when it is unknown what others left behind."""

    async def pass_once(self) -> int:
        """Pause and resume what is to be; return how many queues that were."""
        wanted = self._queues()
        changed = 0
        if wanted != self._kept:
            changed += await self._resume_others(wanted)
        if wanted:
            changed += await self._pause(wanted)
        self._kept = wanted
        return changed

    async def _pause(self, wanted: frozenset[str]) -> int:
        async with asyncio.timeout(ANSWER_SECONDS):
            paused = set(await self._store.paused_queues())
            tenants = [tenant async for tenant in self._tenants()]
        missing = sorted({(tenant, queue) for tenant in (DEFAULT_TENANT, *tenants) for queue in wanted} - paused)
        for tenant, queue in missing:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._control.pause_queue(queue, tenant=tenant, reason=REASON)
            log.info("queue.paused", tenant=tenant, queue=queue, reason=REASON)
        return len(missing)

    async def _tenants(self) -> AsyncIterator[str]:
        after: str | None = None
        while page := await self._store.tenants.list_tenants(limit=TENANTS_AT_ONCE, after=after):
            for tenant in page:
                yield tenant.name
            after = page[-1].name

    async def _resume_others(self, wanted: frozenset[str]) -> int:
        # The directory decides what is paused, so a shard that is away has nothing to add.
        with noting_missing():
            async with asyncio.timeout(ANSWER_SECONDS):
                views = await self._store.queries.queues()
        ours = [view for view in views if view.is_paused and view.reason == REASON]
        over = [view for view in ours if view.name not in wanted]
        for view in over:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._control.resume_queue(view.name, tenant=view.tenant)
            log.info("queue.resumed", tenant=view.tenant, queue=view.name)
        return len(over)
