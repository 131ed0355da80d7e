"""Shares of limits between the shards of a process."""

from collections.abc import Mapping, Sequence

from drumline.engine.limit_shares import ShareMover
from drumline.ports.limit_shares import LimitShares
from drumline.shards.shard_set import ShardSet


class SharesOfShards:
    """`engine.limit_shares.ShareShards`: the shards that this process has opened."""

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards

    def names(self) -> Sequence[str]:
        """Return all there are, the directory among them."""
        return self._shards.names

    def reachable(self) -> Mapping[str, LimitShares]:
        """Return those that can be reached, as far as is known."""
        return {shard.name: shard.store.limit_shares for shard in self._shards if not self._shards.is_away(shard.name)}

    def note_away(self, name: str) -> None:
        """Note that one cannot be reached."""
        self._shards.note_away(name)

    async def refresh(self) -> None:
        """Learn of those that were added or removed."""
        await self._shards.refresh()

    def shares_came(self, name: str) -> None:
        """Let workers of one that wait in this process look again."""
        self._shards.named(name).engine.flow.rose()

    async def limits_gone(self, name: str) -> None:
        """Let the queue of one be filled anew: it may lack hints at tasks that are under a limit no more."""
        engine = self._shards.named(name).engine
        await engine.queue.doubt()
        engine.flow.invalidate()


def share_mover(shards: ShardSet) -> ShareMover:
    """Return what moves shares of limits between shards."""
    return ShareMover(SharesOfShards(shards))
