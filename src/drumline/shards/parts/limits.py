"""Flow limits: the directory's. Every other shard has copies of them under the same numbers, and a share of each."""

from collections import Counter
from collections.abc import Sequence

from drumline.core.flow import FlowLimit, LimitUse
from drumline.core.ids import TaskId
from drumline.ports.hint import Hint
from drumline.shards.parts.merging import Part


class FlowLimits(Part):
    """`ports.flow.FlowLimitStore`.

    A limit that was set or deleted is copied, and its shares are moved, by the duty of limits (`engine.limit_shares`),
    also in a shard that cannot be reached now. What was deleted holds in a shard until the copy is.
    """

    async def set_limit(self, limit: FlowLimit) -> tuple[FlowLimit, FlowLimit | None]:
        """Keep a limit, in place of one of the same tenant and name; return it, and that one if there was one."""
        return await self._router.directory.limits.set_limit(limit)

    async def delete_limit(self, name: str, *, tenant: str) -> FlowLimit:
        """Forget a limit and return it; raises `NotFound`."""
        return await self._router.directory.limits.delete_limit(name, tenant=tenant)

    async def limits(self, *, tenant: str | None = None) -> list[FlowLimit]:
        """Return the limits there are, by tenant and name."""
        return await self._router.directory.limits.limits(tenant=tenant)

    async def limit_uses(self, task: TaskId, *, tenant: str | None = None) -> list[LimitUse]:
        """Return the limits that a queued task is under, and how much of each is used under its key."""
        return await self._router.one(task, lambda store: store.limits.limit_uses(task, tenant=tenant))

    async def running_under(self, limits: Sequence[int]) -> dict[int, int]:
        """Return how many tasks run under each of these limits, by their numbers, under all keys together."""
        running: Counter[int] = Counter()
        for found in await self._router.each(lambda store: store.limits.running_under(limits)):
            running.update(found)
        return dict(running)

    async def sort_keys(self, *, most: int) -> tuple[int, list[Hint]]:
        """Look up the keys of up to `most` waiting tasks, so that none waits behind those of another key."""
        found = await self._router.in_turn(
            most, lambda store, left: store.limits.sort_keys(most=left), count=lambda each: each[0]
        )
        return sum(moved for moved, _ in found), [hint for _, hints in found for hint in hints]
