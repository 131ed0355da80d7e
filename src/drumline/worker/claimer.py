"""Claims tasks for the free slots and starts them.

Slots are shared among queues by their weights. Each queue earns credit for every slot that is handed out, as much as
its weight is of all weights, and the queues with most credit are asked first. An empty queue loses its credit: no queue
saves up credit, and no slot waits for a queue that is empty.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from drumline.core.ids import SessionId
from drumline.core.task import ClaimedTask
from drumline.ports.gateway import Gateway
from drumline.worker.gateway_retry import GatewayRetry
from drumline.worker.held_attempts import HeldAttempts

ANSWER_SECONDS: Final = 10.0
"""Added to the wait to get the claim's timeout."""

_log = logging.getLogger("drumline.worker")


class QueueShares:
    """Credits slots to queues by their weights."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._weights = dict(weights)
        self._total = sum(weights.values())
        self._credit = dict.fromkeys(weights, 0.0)

    @property
    def are_even(self) -> bool:
        """Whether all weights are equal."""
        return len(set(self._weights.values())) <= 1

    def share(self, room: int) -> list[tuple[str, int]]:
        """Return how many tasks to ask each queue for, `room` in all, those with most credit first."""
        for queue, weight in self._weights.items():
            self._credit[queue] += room * weight / self._total
        shares: dict[str, int] = {}
        # Whole slots by credit; what is left over goes one by one to those who are owed most.
        for queue, credit in self._credit.items():
            shares[queue] = max(0, int(credit))
        for queue in sorted(self._credit, key=lambda queue: shares[queue] - self._credit[queue]):
            if sum(shares.values()) >= room:
                break
            shares[queue] += 1
        given, left = [], room
        for queue in sorted(shares, key=lambda queue: -self._credit[queue]):
            count = min(shares[queue], left)
            left -= count
            if count:
                given.append((queue, count))
        return given

    def took(self, queue: str, wanted: int, got: int) -> None:
        """Note what a queue gave when it was asked for so many."""
        self._credit[queue] = self._credit[queue] - got if got >= wanted else 0.0


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
        self._shares: QueueShares | None = None

    def serve(self, weights: Mapping[str, int], *, opened_with: tuple[str, ...]) -> None:
        """Claim from these queues, by their weights; the session was opened with some."""
        shares = QueueShares(weights)
        self._shares = None if shares.are_even else shares
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
        limit = await self._held_attempts.wait_for_room()
        if self._shares is None:
            return len(await self._claim(session, limit, wait=self._wait, queues=self._queues) or ())
        return await self._claim_by_weight(session, limit, self._shares)

    async def _claim_by_weight(self, session: SessionId, room: int, shares: QueueShares) -> int:
        """Ask each queue for its share; if none has anything, wait for the first task of any."""
        started = 0
        for queue, count in shares.share(room):
            tasks = await self._claim(session, count, wait=0.0, queues=(queue,))
            if tasks is None:
                return started
            shares.took(queue, count, len(tasks))
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
            await asyncio.sleep(self._retry.note_failure(error))
            return None
        self._retry.note_answer()
        self._start(tasks, session)
        return tasks
