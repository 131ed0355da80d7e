"""What the sweep needs of the queue: where it stands, what it lacks, and putting that back."""

from collections.abc import Iterator, Mapping, Sequence
from secrets import token_hex
from types import MappingProxyType
from typing import Final

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.task import Lane
from drumline.ports.queue import QueueState
from drumline.ports.store import Hint
from drumline.redis.client import RedisCall
from drumline.redis.keys import lane_text, parse_lane, paused_text
from drumline.redis.queue_base import MOST_PER_CALL, RedisQueueBase, by_lane, written

SKEW_MS: Final = 60_000
"""How long the best bound for the store's clock is kept."""


class Swept(RedisQueueBase):
    """The part of `ports.queue.SweptQueue` that the sweep uses."""

    async def sync(self, *, now: Instant, paused: Sequence[tuple[str, str]] | None = None) -> QueueState | None:
        """Take over the store's time, and its paused queues if given; return its state."""
        keys = self._keys
        args: list[str | int] = [now, SKEW_MS]
        if paused is not None:
            args += ("paused", *[paused_text(tenant, queue) for tenant, queue in paused])
        answer = await self._client.run(RedisCall("sync", (keys.generation, keys.skew, keys.more, keys.paused), args))
        if answer is None:
            return None
        generation, *crowded = answer
        return QueueState(generation or None, tuple(parse_lane(lane) for lane in crowded))

    async def absent(self, hints: Sequence[Hint]) -> frozenset[TaskId] | None:
        """Return which of these the queue does not hold, or holds for a later time."""
        found: set[TaskId] = set()
        for part in _parts(hints):
            args: list[str | int] = []
            for lane, held in by_lane(part).items():
                args += (lane_text(lane), len(held), *[hint.task for hint in held], *[hint.due_at for hint in held])
            answer = await self._run("absent", *args)
            if answer is None:
                return None
            found.update(answer)
        return frozenset(found)

    async def restore(
        self, hints: Sequence[Hint], *, bounds: Mapping[Lane, Instant | None] = MappingProxyType({})
    ) -> bool | None:
        """Take hints in again, without waking any claimer; `bounds` tells how far the queue then holds a lane."""
        parts = list(_parts(hints))
        for part in parts:
            args: list[str | int] = []
            for lane, held in by_lane(part).items():
                args += (lane_text(lane), "", len(held), *written(held))
            if await self._run("restore", self._most_per_lane, *args) is None:
                return None
        bound_args: list[str | int] = []
        for lane, bound in bounds.items():
            bound_args += (lane_text(lane), "all" if bound is None else bound, 0)
        if bound_args and await self._run("restore", self._most_per_lane, *bound_args) is None:
            return None
        return True

    async def filled(self) -> str | None:
        """Note that a refill is complete, and return the generation that holds from now on.

        Of several refills at the same time the first gives the name; the others have done the same work.
        """
        key = (self._keys.generation,)
        await self._client.run(RedisCall("SET", key, (token_hex(8), "NX"), plain=True))
        generation: str | None = await self._client.run(RedisCall("GET", key, plain=True))
        return generation


def _parts(hints: Sequence[Hint]) -> Iterator[Sequence[Hint]]:
    for start in range(0, len(hints), MOST_PER_CALL):
        yield hints[start : start + MOST_PER_CALL]
