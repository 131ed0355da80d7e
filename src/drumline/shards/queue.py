"""The queue of the front: what changes by way of it reaches the queue of each task's shard, and who waits there."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from drumline.core.errors import Unavailable
from drumline.core.ids import TaskId
from drumline.core.task import ClaimedTask, Lane
from drumline.ports.queue import Handed, Leased, Popped, Reservation, Woken
from drumline.ports.store import ClaimRequest, Hint
from drumline.shards.shard_set import Shard, ShardSet

T = TypeVar("T")


class RoutedQueue:
    """`ports.queue.Queue` over the engines of all shards. Nothing is claimed by way of it: that is done per shard.

    What a shard that is away does not hear, its own sweep finds.
    """

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards

    @property
    def carries_signals(self) -> bool:
        """Whether processes that listen hear the signals of others."""
        return self._shards.directory.engine.queue.carries_signals

    async def prepare(self) -> None:
        """Have ready what the first push needs, in each shard."""
        for shard in self._shards:
            await shard.engine.queue.prepare()

    async def push(self, hints: Sequence[Hint]) -> bool:
        """Let the engines of the tasks' shards offer them."""
        for shard, some in by_shard(self._shards, ((hint.task, hint) for hint in hints)):
            shard.engine.offer(some)
        return True

    async def tell(self, hints: Sequence[Hint]) -> None:
        """Do as `push` does: the engine of the shard sees that there are no hints for tasks under limits."""
        await self.push(hints)

    async def signal(self, word: str) -> None:  # noqa: ARG002 - there is one word
        """Tell every worker of every shard, here and in other processes, that something was cancelled."""
        for shard in self._shards:
            shard.engine.stops.announce()

    async def pop(self, request: ClaimRequest) -> Popped | None:  # noqa: ARG002
        """Return that the store should choose."""
        return None

    async def reserve(self, lane: Lane) -> Reservation | None:  # noqa: ARG002
        """Return that nobody waits here."""
        return None

    async def unreserve(self, reservation: Reservation) -> None:
        """Do nothing: nothing is reserved here."""

    async def withdraw(self, request: ClaimRequest) -> None:
        """Do nothing: no claim waits here."""

    async def hand(self, reservation: Reservation, task: ClaimedTask) -> bool | None:  # noqa: ARG002
        """Return that nobody listens here."""
        return False

    async def drop(self, tasks: Sequence[TaskId]) -> None:
        """Forget hints that have become wrong."""
        for shard, some in by_shard(self._shards, ((task, task) for task in tasks)):
            await shard.engine.queue.drop(some)

    async def doubt(self) -> None:
        """Note that hints are missing as a whole, in each shard."""
        for shard in self._shards:
            await shard.engine.queue.doubt()

    async def listen(self, woken: Woken, handed: Handed | None = None, leased: Leased | None = None) -> None:  # noqa: ARG002
        """Wait until cancelled: the engine of each shard listens to its own queue."""
        await asyncio.Event().wait()

    async def pause_queue(self, queue: str, *, tenant: str) -> None:
        """Offer no more tasks of a queue, in any shard."""
        for shard in self._shards:
            await shard.engine.queue.pause_queue(queue, tenant=tenant)

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Offer a paused queue's tasks again, in every shard."""
        for shard in self._shards:
            await shard.engine.queue.resume_queue(queue, tenant=tenant)

    async def check(self) -> dict[str, object] | None:
        """Return details for the health page: the directory's, and those of other shards under their names."""
        found = await self._shards.directory.engine.queue.check()
        for shard in self._shards:
            if shard is not self._shards.directory and (one := await _checked(shard)) is not None:
                found = {**(found or {}), shard.name: one}
        return found

    async def close(self) -> None:
        """Do nothing: the shards' engines close their queues."""


async def _checked(shard: Shard) -> dict[str, object] | None:
    """Return details of another shard's queue; if it is away that is one of them, for the others work."""
    try:
        return await shard.engine.queue.check()
    except Unavailable as error:
        return {"is_degraded": True, "error": error.message}


def by_shard(shards: ShardSet, things: Iterable[tuple[str, T]]) -> Iterator[tuple[Shard, list[T]]]:
    """Return things by the shards of their ids; those of shards that this process has not opened are left out."""
    found: defaultdict[str, list[T]] = defaultdict(list)
    for each, thing in things:
        try:
            found[shards.of(each).name].append(thing)
        except Unavailable:
            continue
    for name, some in found.items():
        yield shards.named(name), some
