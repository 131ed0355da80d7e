"""Giving back what was leased and reached nobody: released without counting, then offered."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from drumline.core.errors import Fenced, Unavailable
from drumline.core.state import Act
from drumline.core.task import ClaimedTask
from drumline.engine.offer import Offers
from drumline.ports.store import Settled, Settlement


class SettleStore(Protocol):
    """What is asked of the store here."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        ...


class Returns:
    """Gives tasks back in the background: nobody waits for that."""

    def __init__(self, store: SettleStore, offers: Offers) -> None:
        self._store = store
        self._offers = offers
        self._returns: set[asyncio.Task[None]] = set()

    def give_back(self, tasks: Sequence[ClaimedTask]) -> None:
        """Release tasks that nobody has begun, and offer them. Returns at once."""
        giving = asyncio.get_running_loop().create_task(self._give_back(tasks), name="give back a claim")
        self._returns.add(giving)
        giving.add_done_callback(self._returns.discard)

    async def drained(self) -> None:
        """Wait until all has been given back."""
        if self._returns:
            await asyncio.wait(set(self._returns))

    async def _give_back(self, tasks: Sequence[ClaimedTask]) -> None:
        try:
            answers = await self._store.settle([Settlement(lease=task.lease, act=Act.RELEASE) for task in tasks])
        except Unavailable:
            return  # the reaper finds them as ghosts
        self._offers.offer([answer.hint for answer in answers if isinstance(answer, Settled) and answer.hint])
