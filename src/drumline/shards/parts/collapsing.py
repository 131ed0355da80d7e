"""Submissions that may collapse: each goes to the shard of its id, whose slot is that of its key."""

from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.core.errors import Moved
from drumline.core.task import NewTask
from drumline.ports.collapsing import CollapseAnswer
from drumline.shards.parts.merging import Part


class Collapsing(Part):
    """`ports.collapsing.Collapsing`."""

    async def submit(self, tasks: Sequence[NewTask]) -> list[CollapseAnswer | Moved]:
        """Store tasks, or let earlier ones stand for them, each in the shard of its id."""
        return await self._router.split(
            tasks, lambda store, part: store.collapsing.submit(part), key=lambda task: task.id
        )

    async def prune(self, *, before: Instant, limit: int) -> int:
        """Forget keys whose time was over by then and whose task has ended; return how many."""
        return sum(
            await self._router.in_turn(
                limit, lambda store, left: store.collapsing.prune(before=before, limit=left), count=int
            )
        )
