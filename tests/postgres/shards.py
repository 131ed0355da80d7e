"""Three real databases as the shards of one installation, as a process sees them."""

from collections.abc import Sequence
from random import Random

from drumline.core.clock import Clock, SystemClock
from drumline.core.ids import IdSource
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS, OpenSlots
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.ports.shards import ShardIdentity, ShardRow
from drumline.shards.move import Mover
from drumline.shards.shard_set import Shard, ShardSet
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore

NAMES = (DIRECTORY, "b", "c")
INSTALLATION = "01890a5d-ac96-774b-bcce-b302099a8057"


async def join_all(stores: Sequence[PostgresStore]) -> None:
    """Let databases become the shards of one installation, with all slots in the first."""
    for store, name in zip(stores, NAMES, strict=True):
        await store.slots.join(ShardIdentity(name, INSTALLATION))
        if name != DIRECTORY:
            await stores[0].shards.add_shard(name, store_url=b"", queue_url=None)


class Process:
    """A process of the installation: its view of the shards, and what it makes ids with."""

    def __init__(self, stores: Sequence[PostgresStore], *, seed: int = 1, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self.stores = dict(zip(NAMES, stores, strict=True))
        self.engines = {
            name: Engine(store, NoQueue(), EngineOptions(clock=clock)) for name, store in self.stores.items()
        }
        self.shards = ShardSet(self._shard(DIRECTORY), open_shard=self._open, clock=clock)
        self.ids = IdSource(clock.now, Random(seed))
        self.shards.on_change(self._use_map)

    async def move(self, slots: Sequence[int], taker: str) -> None:
        """Move the new work of slots."""
        await self.shards.refresh()
        await Mover(self.shards).move(dict.fromkeys(slots, taker))

    def _shard(self, name: str) -> Shard:
        return Shard(name, self.engines[name], self.stores[name])

    async def _open(self, row: ShardRow) -> Shard:
        return self._shard(row.name)

    def _use_map(self) -> None:
        entries = [self.shards.map.entry(slot) for slot in range(SLOTS)]
        self.ids.open = OpenSlots(
            tuple(range(SLOTS)),
            {slot: entry.version for slot, entry in enumerate(entries) if entry.version},
            {slot: entry.since for slot, entry in enumerate(entries) if entry.since},
        )
