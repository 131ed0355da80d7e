"""Claiming: ask for what is free, start what comes, ask again."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from drumline.core.ids import SessionId
from drumline.core.task import ClaimedTask
from drumline.ports.gateway import Gateway
from drumline.worker.holdings import Holdings
from drumline.worker.link import Link

ANSWER_SECONDS: Final = 10.0
"""How much longer than its own wait a claim may take."""

_log = logging.getLogger("drumline.worker")


class Claims:
    """Keeps a worker's slots full while there is work."""

    def __init__(
        self,
        gateway: Gateway,
        link: Link,
        holdings: Holdings,
        *,
        start: Callable[[ClaimedTask, SessionId], None],
        wait: float,
    ) -> None:
        self._gateway = gateway
        self._link = link
        self._holdings = holdings
        self._start = start
        self._wait = wait

    async def run(self, session: SessionId) -> None:
        """Claim and start tasks until cancelled."""
        while True:
            started = await self.pass_once(session)
            if not started:
                # A closed session is answered with nothing at once: never turn that into a busy loop.
                await asyncio.sleep(0.01)

    async def pass_once(self, session: SessionId) -> int:
        """Claim once what there is room for; return how many tasks were started."""
        limit = await self._holdings.room()
        try:
            async with asyncio.timeout(self._wait + ANSWER_SECONDS):
                tasks = await self._gateway.claim(
                    session, limit=limit, wait=self._wait, held=self._holdings.by_tenant()
                )
        except Exception as error:  # noqa: BLE001 - a worker outlives whatever its gateway raises
            await asyncio.sleep(self._link.failed(error))
            return 0
        self._link.answered()
        for task in tasks:
            self._start(task, session)
        return len(tasks)
