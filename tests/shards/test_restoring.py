"""After a restore the Redis of every shard forgets what it knew."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from drumline.core.clock import SystemClock
from drumline.lifecycle.backup import finish_restore
from drumline.ports.shards import ShardIdentity
from drumline.redis import RedisQueue
from drumline.settings import load_settings
from drumline.shards.service import seal_urls
from drumline.stores.postgres import PostgresStore
from drumline.stores.sealing import AesBox, new_key_text, parse_keys
from scripts.programs import missing
from tests.harness.redis import RedisServer

KEY = new_key_text()
HERE = "0f0a2c3e-0000-4000-8000-000000000001"


@pytest.fixture
def other_redis() -> Iterator[RedisServer]:
    """The Redis of a shard that has one of its own."""
    if reason := missing("redis"):
        pytest.skip(reason)
    server = RedisServer()
    yield server
    server.remove()


async def test_the_redis_of_every_shard_forgets_what_it_knew(
    shard_urls: tuple[str, ...], redis_url: str, other_redis: RedisServer, tmp_path: Path
) -> None:
    box = AesBox(parse_keys(KEY))
    queues = {"main": None, "pg2": other_redis.url(), "pg3": None}
    stores = [await PostgresStore.open(url) for url in shard_urls]
    for (name, queue_url), url, store in zip(queues.items(), shard_urls, stores, strict=True):
        await store.slots.join(ShardIdentity(name, HERE))
        if name != "main":
            sealed = seal_urls(box, name, url, queue_url)
            await stores[0].shards.add_shard(name, store_url=sealed[0], queue_url=sealed[1])
        queue = RedisQueue(queue_url or redis_url, shard=name, clock=SystemClock())
        await queue.filled()
        await queue.close()
    settings = {"STORE_URL": shard_urls[0], "QUEUE_URL": redis_url, "SECRET_KEY": KEY, "DATA": str(tmp_path)}

    restored = await finish_restore(load_settings({f"DRUMLINE_{name}": value for name, value in settings.items()}))

    assert restored.forgotten >= 3
    for url in (redis_url, other_redis.url()):
        async with Redis.from_url(url, decode_responses=True) as client:
            assert await client.keys("drumline:*generation") == []
    for store in stores:
        await store.close()
