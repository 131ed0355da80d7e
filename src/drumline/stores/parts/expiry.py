"""When tasks expire that have not started."""

from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import NewTask
from drumline.ports.expiry import DueExpiries
from drumline.stores.driver import Line, Part, Transaction

WAITING = frozenset({int(State.BLOCKED), int(State.QUEUED)})


class Expiry(Part):
    """`ports.expiry.Expiry`."""

    async def expired(self, tasks: Sequence[TaskId]) -> dict[TaskId, Instant]:
        """Return which tasks expired before they started, and when."""
        rows = await self._database.fetch(Line.CLAIM, "expired", repeat=True, ids=list(tasks), now=self._now())
        return {TaskId(str(task)): Instant(expires_at) for task, expires_at in rows}

    async def due_expiries(self, *, limit: int) -> DueExpiries:
        """Return up to `limit` tasks whose expiry time has come, earliest first."""
        rows = await self._database.fetch(Line.BROAD, "due_expiries", repeat=True, limit=limit, now=self._now())
        waiting: dict[TaskId, Instant] = {}
        over: list[TaskId] = []
        for task, expires_at, state, has_started in rows:
            if state is None or has_started:
                over.append(TaskId(str(task)))
            elif state in WAITING:
                waiting[TaskId(str(task))] = Instant(expires_at)
        return DueExpiries(waiting, over)

    async def forget_expiries(self, tasks: Sequence[TaskId]) -> None:
        """Let tasks expire no more."""
        await self._database.fetch(Line.REQUEST, "delete_expiries", repeat=True, ids=list(tasks))


async def note_expiries(transaction: Transaction, tasks: Sequence[NewTask]) -> None:
    """Note when tasks expire, in the transaction that stores them."""
    expiring = [(task.id, task.expires_at) for task in tasks if task.expires_at is not None]
    if expiring:
        await transaction.fetch(
            "insert_expiries", ids=[task for task, _ in expiring], expires_at=[at for _, at in expiring]
        )
