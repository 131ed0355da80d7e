"""Claims tasks for the free slots and starts them."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from drumline.core.ids import SessionId
from drumline.core.task import ClaimedTask
from drumline.ports.gateway import Gateway
from drumline.worker.gateway_retry import GatewayRetry
from drumline.worker.held_attempts import HeldAttempts
from drumline.worker.queue_shares import QueueShares

ANSWER_SECONDS: Final = 10.0
"""Added to the wait to get the claim's timeout."""

_log = logging.getLogger("drumline.worker")


class Claimer:
    """Keeps a worker's slots full while there is work."""

    def __init__(
        self,
        gateway: Gateway,
        retry: GatewayRetry,
        held_attempts: HeldAttempts,
        *,
        start: Callable[[Sequence[ClaimedTask], SessionId], None],
        wait: float,
    ) -> None:
        self._gateway = gateway
        self._retry = retry
        self._held_attempts = held_attempts
        self._start = start
        self._wait = wait
        self._queues: tuple[str, ...] | None = None
        self._turns: QueueShares | None = None

    def serve(self, weights: Mapping[str, int], *, opened_with: tuple[str, ...]) -> None:
        """Claim from these queues, by their weights; the session was opened with some."""
        turns = QueueShares(weights)
        self._turns = None if turns.are_even else turns
        # What the session says already need not be said again, and a server of yesterday would not understand it.
        self._queues = None if tuple(weights) == opened_with else tuple(weights)

    async def run(self, session: SessionId) -> None:
        """Claim and start tasks until cancelled."""
        while True:
            started = await self.pass_once(session)
            if not started:
                # A closed session is answered with nothing at once: never turn that into a busy loop.
                await asyncio.sleep(0.01)
            elif started == 1:
                await asyncio.sleep(0)  # a lone task begins before more are asked for; many begin meanwhile

    async def pass_once(self, session: SessionId) -> int:
        """Claim as many tasks as there are free slots; return how many were started."""
        limit = await self._held_attempts.room()
        if self._turns is None:
            return len(await self._claim(session, limit, wait=self._wait, queues=self._queues) or ())
        return await self._claim_by_weight(session, limit, self._turns)

    async def _claim_by_weight(self, session: SessionId, room: int, turns: QueueShares) -> int:
        """Ask each queue for its share; if none has anything, wait for the first task of any."""
        started = 0
        for queue, count in turns.share(room):
            tasks = await self._claim(session, count, wait=0.0, queues=(queue,))
            if tasks is None:
                return started
            turns.took(queue, count, len(tasks))
            started += len(tasks)
        if started:
            return started
        return len(await self._claim(session, room, wait=self._wait, queues=self._queues) or ())

    async def _claim(
        self, session: SessionId, limit: int, *, wait: float, queues: tuple[str, ...] | None
    ) -> Sequence[ClaimedTask] | None:
        """Claim and start tasks, and return them; None if the engine did not answer."""
        try:
            async with asyncio.timeout(wait + ANSWER_SECONDS):
                tasks = await self._gateway.claim(
                    session, limit=limit, wait=wait, held=self._held_attempts.by_tenant(), queues=queues
                )
        except Exception as error:  # noqa: BLE001 - a worker outlives whatever its gateway raises
            await asyncio.sleep(self._retry.failed(error))
            return None
        self._retry.answered()
        self._start(tasks, session)
        return tasks
