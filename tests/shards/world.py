"""An installation of three databases, put together from its parts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random

from drumline.core.clock import SystemClock
from drumline.core.ids import IdSource
from drumline.core.shard_map import DIRECTORY
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.ports.queue import Queue
from drumline.ports.shards import ShardRow
from drumline.ports.store import Store
from drumline.shards.front import FrontEngine
from drumline.shards.service import ShardReach, ShardService, open_urls
from drumline.shards.shard_set import Shard, ShardSet
from drumline.shards.task_router import TaskRouter
from drumline.shards.view import shard_view
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sealing import AesBox

BOX = AesBox((b"k" * 32,))
NAMES = (DIRECTORY, "pg2", "pg3")


class World:
    """A process of the installation: what it knows of the shards, and how it submits."""

    def __init__(self, shards: ShardSet, service: ShardService, seed: int) -> None:
        self.shards = shards
        self.service = service
        self.ids = IdSource(SystemClock().now, Random(seed))
        self.router = TaskRouter(shards, self.ids)
        shards.on_change(self._use_map)
        self._use_map()

    async def add_all(self, urls: Sequence[str]) -> None:
        """Add the other databases, and share the slots out."""
        for name, url in zip(NAMES[1:], urls[1:], strict=True):
            await self.service.add(name, store_url=url)
        await self.service.move(taker=None)

    def _use_map(self) -> None:
        self.ids.open = self.router.open_slots()


@asynccontextmanager
async def opened(urls: Sequence[str], *, seed: int = 1, queue: Queue | None = None) -> AsyncIterator[World]:
    """Give a process that knows the directory's address, and takes up what is registered there."""
    queue = queue or NoQueue()
    own = await PostgresStore.open(urls[0])

    async def open_row(row: ShardRow) -> Shard:
        store_url, _ = open_urls(BOX, row)
        store = await PostgresStore.open(store_url)
        return Shard(row.name, Engine(shard_view(store, own), queue, EngineOptions()), store)

    async def open_store(url: str) -> Store:
        return await PostgresStore.open(url)

    directory = Shard(DIRECTORY, Engine(own, queue, EngineOptions()), own)
    shards = ShardSet(directory, open_shard=open_row, clock=SystemClock())
    await shards.refresh()
    reach = ShardReach(open_store, lambda url: url.rpartition("/")[2], urls[0])
    try:
        yield World(shards, ShardService(shards, BOX, reach), seed)
    finally:
        await shards.close()


def front(world: World) -> FrontEngine:
    """Return the engine of the whole installation."""
    engine = FrontEngine(world.shards, EngineOptions(), world.service)
    engine._use_map()
    return engine
