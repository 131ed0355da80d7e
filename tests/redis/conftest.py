"""A queue on a real Redis, with time that moves by hand."""

from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis

import drumline.redis.client
from drumline.core.clock import ManualClock
from drumline.redis import RedisQueue
from scripts.programs import missing
from tests.harness.proxy import Proxy
from tests.harness.redis_cluster import RedisClusterServers


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Redis that a busy machine lets wait is not taken for one that is away, whose notes are left out."""
    monkeypatch.setattr(drumline.redis.client, "ANSWER_SECONDS", 30.0)


@pytest.fixture
async def queue(redis_url: str, clock: ManualClock) -> AsyncIterator[RedisQueue]:
    queue = RedisQueue(redis_url, clock=clock, most_per_lane=10)
    await queue.filled()
    yield queue
    await queue.close()


@pytest.fixture
async def other(redis_url: str, clock: ManualClock) -> AsyncIterator[RedisQueue]:
    """Another process's view of the same queue."""
    other = RedisQueue(redis_url, clock=clock)
    yield other
    await other.close()


@pytest.fixture
async def proxy(redis_url: str) -> AsyncIterator[Proxy]:
    target = urlsplit(redis_url)
    proxy = Proxy(str(target.hostname), target.port or 6379)
    await proxy.start()
    yield proxy
    await proxy.close()


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url, decode_responses=True)
    yield client
    await client.aclose()


@pytest.fixture(scope="session")
def cluster() -> Iterator[RedisClusterServers]:
    if reason := missing("redis"):
        pytest.skip(reason)
    cluster = RedisClusterServers()
    yield cluster
    cluster.remove()
