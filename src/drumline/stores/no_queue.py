"""The queue of those who need none: the store's own index is the order, and everyone waits in this process."""

from collections.abc import Sequence

from drumline.core.ids import TaskId
from drumline.core.task import ClaimedTask, Lane
from drumline.ports.queue import Handed, Leased, Popped, Reservation, Woken
from drumline.ports.store import ClaimRequest, Hint


class NoQueue:
    """Keeps no hints. Processes that share the store find each other's tasks by looking once a second."""

    async def prepare(self) -> None:
        """Have nothing to make ready."""

    async def push(self, hints: Sequence[Hint]) -> bool:  # noqa: ARG002 - there is nothing to do with them
        """Keep nothing: the store has the task."""
        return False

    async def tell(self, hints: Sequence[Hint]) -> None:
        """Do nothing: there are no other processes to wake."""

    @property
    def carries_signals(self) -> bool:
        """Carry none."""
        return False

    async def signal(self, word: str) -> None:
        """Reach nobody."""

    async def pop(self, request: ClaimRequest) -> Popped | None:
        """Let the store choose."""

    async def reserve(self, lane: Lane) -> Reservation | None:
        """Know nobody who waits."""

    async def unreserve(self, reservation: Reservation) -> None:
        """Keep no list of those who wait."""

    async def withdraw(self, request: ClaimRequest) -> None:
        """Keep no list of those who wait."""

    async def hand(self, reservation: Reservation, task: ClaimedTask) -> bool | None:  # noqa: ARG002 - nobody waits
        """Reach nobody."""
        return False

    async def drop(self, tasks: Sequence[TaskId]) -> None:
        """Forget nothing."""

    async def doubt(self) -> None:
        """Keep nothing that could be missing."""

    async def pause_queue(self, queue: str, *, tenant: str) -> None:
        """Keep no hints that would have to be held back."""

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Keep no hints that were held back."""

    async def listen(self, woken: Woken, handed: Handed | None = None, leased: Leased | None = None) -> None:
        """Hear of no other process."""

    async def check(self) -> dict[str, object] | None:
        """Have nothing to check."""

    async def close(self) -> None:
        """Have nothing to let go of."""
