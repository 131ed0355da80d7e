"""Forks of tasks, where slots may move to another database."""

from drumline.ports.forks import ForkAnswer, NewFork
from drumline.stores.parts.forks import Forks
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.submitting import MOVED


class PostgresForks(Forks):
    """`ports.forks.Forks` on PostgreSQL."""

    async def fork(self, new: NewFork) -> ForkAnswer:
        """Store a task with the records that another has before a step; in a slot that has moved, nothing is stored."""
        # Numbered before: a transaction that holds a task must not wait for a connection that one behind it has.
        await self._lanes.numbers_in_order([new.task.lane])
        try:
            return await super().fork(new)
        except SlotClosed:
            return MOVED
