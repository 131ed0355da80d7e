"""Submissions that may collapse, where slots may move to another database."""

from collections.abc import Sequence

from drumline.core.errors import Moved
from drumline.core.task import NewTask
from drumline.ports.collapsing import CollapseAnswer
from drumline.stores.parts.collapsing import Collapsing
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.submitting import MOVED


class PostgresCollapsing(Collapsing):
    """`ports.collapsing.Collapsing` on PostgreSQL."""

    async def submit(self, tasks: Sequence[NewTask]) -> list[CollapseAnswer | Moved]:
        """Store tasks, or let earlier ones stand for them; in a slot that has moved, nothing is stored."""
        # Numbered before: a transaction that holds a key must not wait for a connection that one behind it has.
        await self._lanes.numbers_in_order([task.lane for task in tasks])
        try:
            return await super().submit(tasks)
        except SlotClosed:
            if len(tasks) == 1:
                return [MOVED]
        # One that has moved must not keep the others from being stored.
        return [answer for task in tasks for answer in await self.submit([task])]
