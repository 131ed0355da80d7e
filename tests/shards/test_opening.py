"""A further shard is opened on backends of its own, as the directory lists it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis
from structlog.testing import capture_logs

from drumline.core.clock import Instant, SystemClock
from drumline.core.errors import Conflict, Unavailable
from drumline.core.meters import Gauge
from drumline.core.metrics import Metrics
from drumline.core.session import SessionSpec, TaskType
from drumline.core.shard_map import DIRECTORY
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.shards import ShardIdentity, ShardRow, ShardState, SlotOwner
from drumline.redis import RedisQueue
from drumline.scheduler.sweep import Sweeper
from drumline.settings import load_settings
from drumline.settings.fields import Settings
from drumline.shards.service import seal_urls
from drumline.shards.shard_set import Shard, ShardSet
from drumline.stores.postgres import NotifyQueue, PostgresStore
from drumline.stores.sealing import AesBox
from drumline.wiring import open_shard, wire

BOX = AesBox((b"k" * 32,))
HERE = "0f0a2c3e-0000-4000-8000-000000000001"
OWNERS = ((0, "main"), (1, "pg2"))
RUNNER = SessionSpec(host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=9)


class Installation:
    """A directory with its settings, and a database that can be added to it."""

    def __init__(self, settings: Settings, directory: Shard, urls: tuple[str, ...]) -> None:
        self.settings = settings
        self.directory = directory
        self.urls = urls
        self.options = EngineOptions(box=BOX, metrics=directory.engine.metrics)

    def row(self, name: str, *, store_url: str | None = None, queue_url: str | None = None) -> ShardRow:
        sealed, queue = seal_urls(BOX, name, store_url or self.urls[1], queue_url)
        return ShardRow(name=name, store_url=sealed, queue_url=queue, state=ShardState.ACTIVE, added_at=Instant(0))

    async def open(self, row: ShardRow) -> Shard:
        return await open_shard(self.settings, row, self.directory, self.options)


@pytest.fixture
async def installation(shard_urls: tuple[str, ...], redis_url: str, tmp_path: Path) -> AsyncIterator[Installation]:
    settings = load_settings(
        {"DRUMLINE_STORE_URL": shard_urls[0], "DRUMLINE_QUEUE_URL": redis_url, "DRUMLINE_DATA": str(tmp_path)}
    )
    wired = await wire(settings)
    directory = Shard(DIRECTORY, wired.engine, wired.engine.store)
    for name, url in zip((DIRECTORY, "pg2"), shard_urls, strict=False):
        store = await PostgresStore.open(url)
        await store.slots.join(ShardIdentity(name, HERE))
        await store.close()
    yield Installation(settings, directory, shard_urls)
    await wired.engine.close()


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url, decode_responses=True)
    yield client
    await client.aclose()


async def test_a_shard_without_a_redis_shares_the_directorys_under_a_tag_of_its_own(
    installation: Installation, client: Redis
) -> None:
    shard = await installation.open(installation.row("pg2"))
    assert shard.swept is not None

    await Sweeper(shard.store, shard.swept).pass_once()

    assert await client.exists("drumline:{queue:pg2}:generation")
    assert not await client.exists("drumline:{queue}:generation")
    await shard.engine.close()


async def test_a_shard_with_an_address_for_its_redis_uses_that(installation: Installation) -> None:
    shard = await installation.open(installation.row("pg2", queue_url="redis://127.0.0.1:1/0"))
    assert isinstance(shard.swept, RedisQueue)

    with pytest.raises(Unavailable):
        await shard.swept.check()

    await installation.directory.engine.queue.check()
    assert shard.engine.metrics.redis_up.values["queue",] == 0
    assert installation.directory.engine.metrics.redis_up.values["queue",] == 1
    await shard.engine.close()


async def test_without_any_redis_processes_are_woken_by_the_shards_database(installation: Installation) -> None:
    installation.settings = replace(installation.settings, queue_url=None)

    shard = await installation.open(installation.row("pg2"))

    assert isinstance(shard.engine.queue, NotifyQueue)
    assert shard.swept is None
    await shard.engine.close()


async def test_what_an_engine_of_a_shard_does_is_counted_under_its_name(installation: Installation) -> None:
    shard = await installation.open(installation.row("pg2"))
    gateway = LocalGateway(shard.engine)
    session = await gateway.open_session(RUNNER)

    store = next(
        family for family in installation.directory.engine.metrics.families() if family.name == "drumline_store_seconds"
    )

    assert session
    assert {labels[-1] for labels in store.series} >= {"pg2"}  # type: ignore[attr-defined]
    assert await installation.directory.store.sessions.sessions() == []
    assert len(await shard.store.sessions.sessions()) == 1
    await shard.engine.close()


async def test_keys_and_limits_of_requests_are_those_of_the_directory(installation: Installation) -> None:
    shard = await installation.open(installation.row("pg2"))

    assert shard.engine.store.keys is installation.directory.store.keys
    assert shard.engine.store.queries is shard.store.queries
    await shard.engine.close()


async def test_a_database_that_is_another_one_is_refused(installation: Installation) -> None:
    for name, url in (("pg2", installation.urls[0]), ("pg2", installation.urls[2]), ("pg3", installation.urls[1])):
        with pytest.raises(Conflict, match=f"the database of the shard {name} is"):
            await installation.open(installation.row(name, store_url=url))


async def test_a_shard_that_is_away_is_told(installation: Installation) -> None:
    with pytest.raises(Unavailable):
        await installation.open(installation.row("pg2", store_url="postgresql://127.0.0.1:1/nowhere"))


async def test_a_shard_that_cannot_be_opened_is_reported_until_it_can_or_has_left(installation: Installation) -> None:
    metrics = installation.directory.engine.metrics
    directory = installation.directory.store.shards
    shards = ShardSet(installation.directory, open_shard=installation.open, clock=SystemClock())
    row = installation.row("pg2", store_url="postgresql://127.0.0.1:1/nowhere")
    await directory.add_shard("pg2", store_url=row.store_url, queue_url=None)

    with capture_logs() as logs:
        await shards.refresh()
        await shards.refresh()
    away = reported(metrics)
    await directory.change_shard("pg2", store_url=installation.row("pg2").store_url)
    await shards.refresh()
    back = reported(metrics)
    await directory.remove_shard("pg2")
    await shards.refresh()

    assert away == {"main": 1, "pg2": 0}
    assert [line["event"] for line in logs] == ["shard.not_opened"], "it is told once"
    assert back == {"main": 1, "pg2": 1}
    assert reported(metrics) == {"main": 1}


async def test_the_slots_of_each_shard_are_reported(installation: Installation) -> None:
    metrics = installation.directory.engine.metrics
    directory = installation.directory.store.shards
    shards = ShardSet(installation.directory, open_shard=installation.open, clock=SystemClock())
    alone = reported(metrics, "drumline_shard_slots")
    await directory.add_shard("pg2", store_url=installation.row("pg2").store_url, queue_url=None)

    await directory.add_owners([SlotOwner(slot=7, version=version, shard=shard, since=0) for version, shard in OWNERS])
    await shards.refresh()

    assert alone == {"main": 4096}
    assert reported(metrics, "drumline_shard_slots") == {"main": 4095, "pg2": 1}
    await shards.named("pg2").engine.close()


def reported(metrics: Metrics, name: str = "drumline_shard_open") -> dict[str, float]:
    family = next(family for family in metrics.families() if family.name == name)
    assert isinstance(family, Gauge)
    return {shard: value for (shard,), value in family.values.items()}
