"""The queue: hints about which tasks are worth claiming next.

A queue never decides anything. A hint may be lost, late, doubled or wrong; the store confirms each one by a
compare-and-set. So no method here raises for an outage: a queue that is away says so by answering None.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.ports.store import ClaimRequest, Hint

Woken = Callable[[str, int], None]
"""Called with a queue's name and a number of tasks that may have become claimable there."""


class Popped(Struct, frozen=True):
    """What a pop gave: task ids, best first, and when the next hint will be due."""

    tasks: tuple[TaskId, ...]
    next_due: Instant | None = None


class Queue(Protocol):
    """Where hints are kept."""

    async def push(self, hints: Sequence[Hint]) -> None:
        """Offer tasks, and wake those who wait for them, here and in other processes."""
        ...

    async def pop(self, request: ClaimRequest) -> Popped | None:
        """Take up to `request.limit` due hints that the session can run, and hide them from others for a moment.

        None means that there are no hints to be had: the store should choose by itself.
        """
        ...

    async def drop(self, tasks: Sequence[TaskId]) -> None:
        """Forget hints that were claimed, or that turned out wrong."""
        ...

    async def listen(self, woken: Woken) -> None:
        """Call `woken` for pushes made by other processes, until cancelled."""
        ...

    async def check(self) -> dict[str, object] | None:
        """Return details for the health page, None if there is nothing to check, or raise `Unavailable`."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...
