"""The attempts that a worker holds, from the claim until the report is acknowledged, and its free slots."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from drumline.aio.events import wait_for
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.worker.stop_reason import StopReason

if TYPE_CHECKING:
    from drumline.worker.attempt import Attempt

GATHER: Final = 0.01
"""Seconds that a busy worker waits for a few more free slots before it claims."""


class HeldAttempts:
    """The attempts of one worker.

    A slot is free again when execution ends; the lease is held a little longer, until the report is acknowledged, so
    that the next claim can be under way together with the report.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._executing = 0
        self._held: dict[Lease, Attempt] = {}
        self._wanted = 0
        """Free slots that the claimer waits for; 0 if it does not wait."""
        self._has_room = asyncio.Event()
        self.empty = asyncio.Event()
        self.empty.set()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> "Iterator[Attempt]":
        return iter(tuple(self._held.values()))

    @property
    def free(self) -> int:
        """How many tasks may be claimed now; fewer when reports pile up, so that they stay bounded."""
        return min(self._capacity - self._executing, 2 * self._capacity - len(self._held))

    @property
    def executing(self) -> int:
        """How many attempts are executed now."""
        return self._executing

    def resize(self, capacity: int) -> None:
        """Change the number of slots; attempts beyond a smaller number run to their end."""
        self._capacity = capacity
        self._wake_claimer()

    def leases(self, session: SessionId) -> tuple[Lease, ...]:
        """Return the leases held in a session."""
        return tuple(lease for lease, attempt in self._held.items() if attempt.session == session)

    def running(self, session: SessionId) -> tuple[Lease, ...]:
        """Return the leases of a session whose attempts are executing and were not asked to stop."""
        return tuple(
            lease for lease, attempt in self._held.items() if attempt.session == session and attempt.is_stoppable
        )

    def by_tenant(self) -> dict[str, int]:
        """Return how many tasks of each tenant are held."""
        return Counter([attempt.task.tenant for attempt in self._held.values()])

    def get(self, lease: Lease) -> "Attempt | None":
        """Return the attempt of a lease, if it is held."""
        return self._held.get(lease)

    def add(self, attempt: "Attempt") -> None:
        """Add an attempt, which takes a slot."""
        if not self._held:
            self.empty.clear()
        self._held[attempt.task.lease] = attempt
        self._executing += 1

    def free_slot(self) -> None:
        """Free a slot: an execution has ended."""
        self._executing -= 1
        if self._wanted:
            self._wake_claimer()

    def drop(self, *leases: Lease) -> None:
        """Drop attempts whose reports were acknowledged, or whose leases are lost."""
        for lease in leases:
            self._held.pop(lease, None)
        if self._wanted:
            self._wake_claimer()
        if not self._held:
            self.empty.set()

    def stop_all(self, reason: StopReason) -> None:
        """Stop every attempt."""
        for attempt in self:
            attempt.stop(reason)

    async def wait_for_room(self) -> int:
        """Wait until claiming is worthwhile, and return how many slots are free.

        At once when there are many free slots or nothing runs; otherwise a moment later, so that a busy worker
        claims in batches.
        """
        await self._room_for(1, within=None)
        useful = max(1, self._capacity // 4)
        if self.free < useful and self._executing:
            await self._room_for(useful, within=GATHER)
        return max(self.free, 1)

    async def _room_for(self, wanted: int, *, within: float | None) -> None:
        self._wanted = wanted
        self._has_room.clear()
        self._wake_claimer()
        if within is None:
            await self._has_room.wait()
        else:
            await wait_for(self._has_room, within=within)

    def _wake_claimer(self) -> None:
        """Wake the waiting claimer, once, when there are enough free slots."""
        free = self.free
        if free >= self._wanted or (free > 0 and not self._executing):
            self._wanted = 0
            self._has_room.set()
