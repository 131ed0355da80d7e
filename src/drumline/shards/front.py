"""The front: the engine of a whole installation, over the engines of its shards."""

import asyncio
from functools import cached_property

from drumline.core.tuning import Tuning
from drumline.engine.engine import Engine
from drumline.engine.feed import EventFeed
from drumline.engine.installation import InstallationMetrics
from drumline.engine.options import EngineOptions
from drumline.ports.shards import ShardOperations
from drumline.shards.feed import ShardedFeed
from drumline.shards.gateway import ShardedGateway
from drumline.shards.job_router import JobRouter
from drumline.shards.limits import share_mover
from drumline.shards.queue import RoutedQueue
from drumline.shards.schedule_router import ScheduleRouter
from drumline.shards.shard_set import ShardSet
from drumline.shards.store import ShardedStore
from drumline.shards.task_router import TaskRouter


class FrontEngine(Engine):
    """What API servers, programs and commands work with. Each shard's own engine stores, hands out and settles tasks.

    With one database it has nothing to merge, and passes everything on.
    """

    def __init__(self, shards: ShardSet, options: EngineOptions, operations: ShardOperations) -> None:
        super().__init__(ShardedStore(shards), RoutedQueue(shards), options)
        self.shard_set = shards
        self.shards = operations
        self.gateway = ShardedGateway(shards)
        self.flow.mover = share_mover(shards)
        self._router = TaskRouter(shards, self._ids[0])
        self.submissions.storing = self._router
        self.jobs.submissions.storing = JobRouter(shards, self._ids[0])
        self.feed = feed = ShardedFeed(self._feeds)
        shards.on_change(feed.shards_changed)
        schedules = ScheduleRouter(shards, self._ids[0])
        self.schedules.storing = self.runs.firings = schedules
        self.schedules.check_name = schedules.check_name
        self._following: asyncio.Task[None] | None = None
        shards.on_change(self._use_map)

    @cached_property
    def installation(self) -> InstallationMetrics:
        """Metrics that are the same at every server, of each shard."""
        return InstallationMetrics(lambda: {shard.name: shard.store for shard in self.shard_set}, self.clock)

    def tune(self, tuning: Tuning) -> None:
        """Apply other values from now on, in every shard."""
        super().tune(tuning)
        for shard in self.shard_set:
            shard.engine.tune(tuning)

    def follow_shards(self) -> None:
        """Look for changes of the shards from now on, in the background, in a process that has no service for it."""
        self._following = asyncio.get_running_loop().create_task(self.shard_set.follow(), name="follow shards")

    async def listen(self) -> None:
        """Take wake-ups from other processes, until cancelled: each shard's engine does so by itself."""
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Finish what is under way here, then close every shard."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await self.finish()
        await self.shard_set.close()

    def _feeds(self) -> dict[str, EventFeed]:
        engines = {shard.name: shard.engine.feed for shard in self.shard_set}
        return {name: feed for name, feed in engines.items() if isinstance(feed, EventFeed)}

    def _use_map(self) -> None:
        """Make ids by the map as it is now, and let shards that were added go by the values that were set last."""
        self.use_slots(self._router.open_slots())
        for shard in self.shard_set:
            if shard.engine.tuning is not self.tuning:
                shard.engine.tune(self.tuning)
