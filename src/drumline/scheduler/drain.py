"""Shards that are being emptied: what they hold is moved to the owners of its slots."""

from typing import Final

from drumline.core.errors import Unavailable
from drumline.shards.drain import Drain
from drumline.shards.shard_set import Shard, ShardSet

AT_ONCE: Final = 200
"""Tasks, jobs and schedules that are moved in one go."""
MOST: Final = 50
"""Goes in one pass, so that other shards have their turn too."""


class Drainer:
    """Empties shards that are draining, and finishes what others have begun to move: a duty.

    Schedules follow their slots from any shard: one does not fire where its slot is closed.
    """

    name = "drain shards"

    def __init__(self, shards: ShardSet, *, every: float = 1.0) -> None:
        self.every = every
        self._shards = shards
        self._drain = Drain(shards)

    async def pass_once(self) -> int:
        """Move what there is to move, and return how much that was."""
        if self._shards.is_lone:
            return 0
        moved = await self._drain.carry_on(limit=AT_ONCE)
        for shard in self._shards:
            try:
                moved += await self._move(shard)
            except Unavailable:
                self._shards.note_away(shard.name)
        return moved

    async def _move(self, shard: Shard) -> int:
        if not self._shards.is_draining(shard.name):
            return await self._drain.follow_slots(shard, limit=AT_ONCE)
        moved = 0
        for _ in range(MOST):
            progress = await self._drain.advance(shard, limit=AT_ONCE)
            moved += progress.moved
            if not progress.moved:
                break
        return moved
