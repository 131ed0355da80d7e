"""The part of the store that keeps flow limits. That they hold is promised by `ports.store.Executing.claim`."""

from collections.abc import Sequence
from typing import Protocol

from drumline.core.flow import FlowLimit, LimitUse
from drumline.core.ids import TaskId
from drumline.ports.hint import Hint


class FlowLimitStore(Protocol):
    """Limits, and the keys of tasks under them. A `tenant` of None means every tenant's."""

    async def set_limit(self, limit: FlowLimit) -> tuple[FlowLimit, FlowLimit | None]:
        """Keep a limit, in place of one of the same tenant and name; return it, and that one if there was one.

        It holds from the commit on: tasks that run already count, those that wait already are under it. Raises
        `Conflict` if another limit looks for the key of the same tasks elsewhere, or if there are too many.
        """
        ...

    async def delete_limit(self, name: str, *, tenant: str) -> FlowLimit:
        """Forget a limit and return it; raises `NotFound`."""
        ...

    async def limits(self, *, tenant: str | None = None) -> list[FlowLimit]:
        """Return the limits there are, by tenant and name."""
        ...

    async def limit_uses(self, task: TaskId, *, tenant: str | None = None) -> list[LimitUse]:
        """Return the limits that a queued task is under, and how much of each is used under its key."""
        ...

    async def running_under(self, limits: Sequence[int]) -> dict[int, int]:
        """Return how many tasks run under each of these limits, by their numbers, under all keys together."""
        ...

    async def sort_keys(self, *, most: int) -> tuple[int, list[Hint]]:
        """Look up the keys of up to `most` waiting tasks, so that none waits behind those of another key.

        Tasks whose limit has gone are put back among the others: those are the hints. What nothing counts any more is
        forgotten. Returns how many tasks were moved.
        """
        ...
