"""A lone task is leased, in the transaction that stores it, to a session that waits: one commit instead of two.

Which session that is, the queue says; whether it may be given the task, the store decides. What goes wrong on the way
from here to the session is a claim whose answer was lost: docs/adr/0027-a-lone-task-is-stored-leased.md.
"""

import asyncio
from collections.abc import Coroutine
from typing import Final, Protocol

from drumline.core.clock import Clock
from drumline.core.ids import SessionId
from drumline.core.task import ClaimedTask, Lane, NewTask, Submitted
from drumline.engine.flow import FlowLimits
from drumline.engine.settle import Settlements
from drumline.ports.queue import Queue, Reservation
from drumline.ports.store import Hint, StoredLeased

LARGEST: Final = 32 * 1024
"""Bytes of a payload that goes along with its lease."""
REST: Final = 0.01
"""Seconds without a look for waiting sessions after none was found: submitting one by one should not pay for it."""


class LeasingStore(Protocol):
    """The part of a store that stores leased tasks."""

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        """Store a task, leased to a session if that can be given it."""
        ...


class LeaseOnSubmit:
    """Stores lone tasks with a lease for a session that waits, if there is one."""

    def __init__(
        self, store: LeasingStore, queue: Queue, settlements: Settlements, *, flow: FlowLimits, clock: Clock
    ) -> None:
        self._store = store
        self._queue = queue
        self._settlements = settlements
        self._effects = settlements.effects
        self._flow = flow
        self._clock = clock
        self._rests_until = float("-inf")
        self._under_way: set[asyncio.Task[None]] = set()

    async def prepare(self) -> None:
        """Have ready what the first task needs on its way to a worker."""
        await self._queue.prepare()
        await self._flow.refresh()

    async def submit(self, task: NewTask) -> Submitted | None:
        """Store a lone task leased to a waiting session; None, with nothing done, if that is not possible."""
        if not _is_plain(task) or self._flow.is_limited(task.lane):
            return None
        reservation = await self._reserve(task.lane)
        if reservation is None:
            return None
        try:
            stored = await self._store.submit_leased(task, session=reservation.session, nonce=reservation.nonce)
        except BaseException:
            self._start(self._queue.unreserve(reservation))
            raise
        # Committed: from here on nothing may fail the caller.
        self._effects.submitted([task], [stored.submitted])
        if stored.claimed is None:
            self._start(self._offer(reservation, Hint(task.id, task.lane, stored.submitted.due_at, is_due=True)))
        else:
            self._start(self._hand(reservation, stored.claimed))
        return stored.submitted

    async def drained(self) -> None:
        """Wait until what is under way has been handed over or offered."""
        if self._under_way:
            await asyncio.wait(set(self._under_way))

    async def _reserve(self, lane: Lane) -> Reservation | None:
        """Reserve a waiting session, unless there was none just now."""
        if self._clock.monotonic() < self._rests_until:
            return None
        reservation = await self._queue.reserve(lane)
        if reservation is None:
            self._rests_until = self._clock.monotonic() + REST
        return reservation

    async def _hand(self, reservation: Reservation, task: ClaimedTask) -> None:
        if await self._queue.hand(reservation, task) is False:
            self._settlements.release([task])
        # None means that it is unknown whether it arrived. It may be running: only the session's heartbeats tell.

    async def _offer(self, reservation: Reservation, hint: Hint) -> None:
        await self._queue.unreserve(reservation)
        self._effects.offers.offer([hint])

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="hand over")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


def _is_plain(task: NewTask) -> bool:
    """Tell whether a task is due at once, has no key under which it may be known, and is small."""
    return (
        task.run_at is None
        and not task.delay_ms
        and task.idempotency_key is None
        and task.collapse is None
        and len(task.payload) <= LARGEST
    )
