"""Moves of slots that nobody finishes, because the process that began them has died, and entries after a restore."""

from drumline.shards.move import Mover
from drumline.shards.shard_set import ShardSet


class MoveKeeper:
    """Carries on with moves of slots that were begun: a duty."""

    name = "moves"

    def __init__(self, shards: ShardSet, *, every: float = 2.0) -> None:
        self.every = every
        self._shards = shards
        self._mover = Mover(shards)
        self._seen: frozenset[tuple[int, int]] = frozenset()

    async def pass_once(self) -> int:
        """Finish what was unfinished at the last pass too: who began it a moment ago is still at it."""
        if self._shards.is_lone:
            return 0
        await self._mover.align()
        unfinished = await self._mover.unfinished()
        old = [entry for entry in unfinished if (entry.slot, entry.version) in self._seen]
        self._seen = frozenset((entry.slot, entry.version) for entry in unfinished)
        return await self._mover.finish(old)
