"""Forks of tasks over several stores: a fork is with the task that it was made from."""

from drumline.ports.forks import ForkAnswer, NewFork
from drumline.shards.asking import is_not_found
from drumline.shards.parts.merging import Part


class Forks(Part):
    """`ports.forks.Forks`."""

    async def fork(self, new: NewFork) -> ForkAnswer:
        """Store a task with the records that another has before a step."""
        return await self._router.one(new.source, lambda store: store.forks.fork(new), is_absent=is_not_found)
