"""Bringing in a task that somebody waits for, leased from the start."""

import asyncpg
from msgspec import Raw

from drumline.core.clock import Instant
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.state import Act
from drumline.core.task import ClaimedTask, NewTask, Submitted, decode_options
from drumline.ports.store import StoredLeased
from drumline.stores.driver import Line
from drumline.stores.postgres.acts import NUMBER_OF, SUBMIT
from drumline.stores.postgres.submitting import Submitting


class SubmittingLeased(Submitting):
    """The part of `ports.store.Submitting` for a task that a session waits for, on PostgreSQL."""

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        """Store a task, leased to a session if that can be given it."""
        lane = task.lane
        (number,) = await self._lanes.numbers_in_order([lane])
        try:
            ((now, is_leased),) = await self._database.fetch(
                Line.SUBMIT,
                "submit_leased",
                repeat=True,
                id=task.id,
                lane=number,
                payload=task.payload,
                options=None if task.options is None else task.options.decode(),
                tenant=lane.tenant,
                queue=lane.queue,
                name=lane.name,
                session=session,
                nonce=nonce,
                submit=SUBMIT,
                claim=NUMBER_OF[Act.CLAIM],
                now=self._now(),
            )
        except asyncpg.UniqueViolationError:
            # This very task is there, and an earlier answer was lost. Whether it is leased is not asked: since then the
            # session may have repeated its claim and been given it, so nobody may hand it over a second time.
            ((_, due_at),) = await self._database.fetch(Line.SUBMIT, "stored_ids", repeat=True, ids=[task.id])
            return StoredLeased(Submitted(task.id, Instant(due_at)), None)
        except asyncpg.DataError:
            # PostgreSQL cannot read all that is JSON: a worker whose words it cannot read is given nothing ahead.
            (stored,) = await self.submit([task])
            if not isinstance(stored, Submitted):
                raise stored from None
            return StoredLeased(stored, None)
        return StoredLeased(Submitted(task.id, Instant(now)), _claimed(task, nonce) if is_leased else None)


def _claimed(task: NewTask, nonce: int) -> ClaimedTask:
    """Return a task as its first claim gives it."""
    lane = task.lane
    return ClaimedTask(
        lease=Lease(task.id, 1, nonce),
        name=lane.name,
        queue=lane.queue,
        payload=Raw(task.payload),
        attempt=1,
        priority=lane.priority,
        tenant=lane.tenant,
        options=decode_options(task.options),
    )
