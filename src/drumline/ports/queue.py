"""The queue: hints about which tasks are worth claiming next.

A queue never decides anything. A hint may be lost, late, doubled or wrong; the store confirms each one by a
compare-and-set. So no method here raises for an outage: a queue that is away says so by answering None.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import SessionId, TaskId
from drumline.core.task import ClaimedTask, Lane
from drumline.ports.store import ClaimRequest, Hint

Woken = Callable[[str, int], None]
"""Called with a queue's name and a number of tasks that may have become claimable there."""
Handed = Callable[[SessionId, Hint], bool]
"""Called with a session and a hint that was given to no other; tells whether the session waits and takes it."""

Leased = Callable[[SessionId, ClaimedTask], None]
"""Called with a session and a task that is leased to it already."""


class Reservation(Struct, frozen=True, kw_only=True):
    """A session that waits, and to which a task may be leased: no other process hands it anything meanwhile."""

    session: SessionId
    nonce: int
    """The name of the claim with which it waits; the lease has to bear it, so that the claim can be repeated."""
    process: str
    """Where it waits, as the queue calls it."""
    listed: str
    since: Instant
    """How the queue had noted the session, and since when."""


class Popped(Struct, frozen=True):
    """What a pop gave: task ids, best first, and when the next hint will be due.

    `asks_store` means that the queue knows of better ones that it does not hold: the store should choose.
    """

    tasks: tuple[TaskId, ...]
    next_due: Instant | None = None
    asks_store: bool = False


class Queue(Protocol):
    """Where hints are kept."""

    @property
    def carries_signals(self) -> bool:
        """Whether processes that listen hear the signals of others."""
        ...

    async def prepare(self) -> None:
        """Have ready what the first push needs, such as a connection. A queue that is away is passed over."""
        ...

    async def push(self, hints: Sequence[Hint]) -> bool:
        """Offer tasks, and wake those who wait for them in other processes.

        A lone task may be handed to a waiting session of any process; then the answer is True, and no other is woken.
        """
        ...

    async def tell(self, hints: Sequence[Hint]) -> None:
        """Wake those who wait for these tasks, in other processes, without keeping the hints."""
        ...

    async def signal(self, word: str) -> None:
        """Call `woken` in every other process that listens, with a word that is no queue's name."""
        ...

    async def pop(self, request: ClaimRequest) -> Popped | None:
        """Take up to `request.limit` due hints that the session can run; no other session gets them meanwhile.

        None means that there are no hints to be had: the store should choose by itself. A session that finds none and
        `waits` may be handed the next by `listen`.
        """
        ...

    async def reserve(self, lane: Lane) -> Reservation | None:
        """Take a session off the list of those that wait: the one that can run a lane and has waited longest.

        None if no session waits, or tasks of the lane do, or the queue is paused or away. The caller uses a reservation
        by `hand`, or gives it back by `unreserve`. One that is lost costs the session only this way of being told of
        tasks, until it looks again.
        """
        ...

    async def unreserve(self, reservation: Reservation) -> None:
        """Put a session back where it stood."""
        ...

    async def withdraw(self, request: ClaimRequest) -> None:
        """Take a session off the list of those that wait: its claim was given up. It may still be told of a task."""
        ...

    async def hand(self, reservation: Reservation, task: ClaimedTask) -> bool | None:
        """Tell a session of a task that is leased to it; tell whether its process listens.

        None if it is unknown whether it arrived: the queue went away meanwhile.
        """
        ...

    async def drop(self, tasks: Sequence[TaskId]) -> None:
        """Forget hints that have become wrong, wherever they are."""
        ...

    async def doubt(self) -> None:
        """Note that hints are missing as a whole: the store should choose by itself until they are refilled."""
        ...

    async def listen(self, woken: Woken, handed: Handed | None = None, leased: Leased | None = None) -> None:
        """Call `woken` for pushes made by other processes and `handed` for hints handed over, until cancelled.

        What is handed to a session that does not wait any more is offered again. `leased` is called for tasks that
        are leased to a session here; whether it still waits is for the caller to see.
        """
        ...

    async def pause_queue(self, queue: str, *, tenant: str) -> None:
        """Offer no more tasks of a queue; the store would refuse them anyway."""
        ...

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Offer a paused queue's tasks again."""
        ...

    async def check(self) -> dict[str, object] | None:
        """Return details for the health page, None if there is nothing to check, or raise `Unavailable`."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...


class QueueState(Struct, frozen=True):
    """The generation of a queue, and the lanes of which the store has more tasks than the queue holds.

    The generation is a random word, written when a refill was complete. None, or another one than last time, means
    that hints were lost as a whole: the queue was emptied, restarted, failed over or set back.
    """

    generation: str | None
    crowded: tuple[Lane, ...] = ()


@runtime_checkable
class SweptQueue(Queue, Protocol):
    """A queue that can lose hints, and that the sweep makes whole again from the store. None means it is away."""

    async def sync(self, *, now: Instant, paused: Sequence[tuple[str, str]] | None = None) -> QueueState | None:
        """Take over the store's time, and if given its paused queues as (tenant, queue); return the queue's state."""
        ...

    async def absent(self, hints: Sequence[Hint]) -> frozenset[TaskId] | None:
        """Return which of these the queue does not hold, or holds for a later time."""
        ...

    async def restore(
        self, hints: Sequence[Hint], *, bounds: Mapping[Lane, Instant | None] = MappingProxyType({})
    ) -> bool | None:
        """Take hints in again, without waking any claimer.

        For lanes in `bounds` it is known how far the queue now holds them: up to a due time, and the store has
        more; or, with None, entirely.
        """
        ...

    async def filled(self) -> str | None:
        """Note that a refill is complete, and return the generation that holds from now on."""
        ...
