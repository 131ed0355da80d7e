"""A store over three databases, among which the slots are spread from the beginning."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from drumline.core.clock import Clock
from drumline.core.shard_map import DIRECTORY, ShardMap, SlotEntry
from drumline.core.slots import SLOTS
from drumline.ports.store import Store
from drumline.shards.store import ShardedStore
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.database import Budget
from drumline.stores.sqlite import SqliteStore
from tests.harness.sqlite import migrated

PATIENT = Budget(connect=60, statement=60, settle=60)
"""A shard that does not answer in time is passed over, which a test would take for its having nothing."""
NAMES = (DIRECTORY, "pg1", "pg2")
SPREAD = ShardMap(1, {slot: (SlotEntry(NAMES[slot % len(NAMES)]),) for slot in range(SLOTS)})
"""A map of three shards, each with every third slot."""


class OpenShard(Struct, frozen=True, eq=False):
    """A shard of a test."""

    name: str
    store: Store


class OpenShards:
    """`shards.asking.Members` with a map that a test gives."""

    def __init__(self, shards: Sequence[OpenShard], map: ShardMap = SPREAD) -> None:
        self._shards = {shard.name: shard for shard in shards}
        self.map = self.next_map = map
        self.missing: tuple[str, ...] = ()
        self.away: list[str] = []
        self.refreshed = 0

    @property
    def directory(self) -> OpenShard:
        return self._shards[DIRECTORY]

    def __iter__(self) -> Iterator[OpenShard]:
        return iter(self._shards.values())

    def of(self, id: str) -> OpenShard:
        return self._shards[self.map.holder(id)]

    def named(self, name: str) -> OpenShard:
        return self._shards[name]

    async def refresh(self) -> None:
        self.refreshed += 1
        self.map = self.next_map

    def note_away(self, name: str) -> None:
        self.away.append(name)

    async def close(self) -> None:
        for shard in self:
            await shard.store.close()


class OwningStore(ShardedStore):
    """A store over shards that nobody else uses: it closes them."""

    def __init__(self, shards: OpenShards) -> None:
        super().__init__(shards)
        self._open = shards

    async def close(self) -> None:
        """Close every shard."""
        await self._open.close()


async def open_shards(folder: Path, clock: Clock) -> OpenShards:
    """Return three shards with a database each."""
    return OpenShards([OpenShard(name, await _opened(folder / f"{name}.db", clock)) for name in NAMES])


def _is_new(path: Path) -> bool:
    return not path.exists()


async def _opened(path: Path, clock: Clock) -> Store:
    is_new = _is_new(path)
    store = await SqliteStore.open(migrated(path), clock=clock)
    if is_new:  # as a copy of another file it has that one's name
        await store.events.rename_log()
    return store


async def open_sharded_postgres(urls: Sequence[str], clock: Clock) -> Store:
    """Return a store over three databases of PostgreSQL."""
    stores = [await PostgresStore.open(url, budget=PATIENT, clock=clock) for url in urls]
    return OwningStore(OpenShards([OpenShard(name, store) for name, store in zip(NAMES, stores, strict=True)]))


async def open_sharded(folder: Path, clock: Clock) -> Store:
    """Return a store over three databases."""
    return OwningStore(await open_shards(folder, clock))
