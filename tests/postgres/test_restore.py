"""A dump of PostgreSQL under load, restored to another server: nothing that was acknowledged before it is missing."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
import redis.asyncio

from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.lifecycle.backup import finish_restore
from drumline.ports.store import TaskFilter
from drumline.redis import RedisQueue
from drumline.scheduler.sweep import Sweeper
from drumline.settings import Secret, Settings
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.connection import fetch
from tests.factories import request
from tests.harness import postgres as postgres_harness
from tests.harness.postgres import PostgresServer
from tests.harness.programs import path_of
from tests.worker.house import until

pytestmark = pytest.mark.services
PREFIX = "drumline:"


@pytest.fixture
def elsewhere() -> Iterator[PostgresServer]:
    """Another server, to restore to."""
    if reason := postgres_harness.missing():
        pytest.skip(reason)
    server = PostgresServer(durable=False)
    yield server
    server.remove()


def dump(url: str, file: Path) -> None:
    subprocess.run([path_of("pg_dump"), "--format=custom", "--schema=drumline", "--file", str(file), url], check=True)


def restore(url: str, file: Path) -> None:
    restoring = [path_of("pg_restore"), "--exit-on-error", "--no-owner", "--no-privileges"]
    subprocess.run([*restoring, "--dbname", url, str(file)], check=True)


@asynccontextmanager
async def engine_on(url: str, redis_url: str) -> AsyncIterator[Engine]:
    queue = await RedisQueue.open(redis_url, prefix=PREFIX)
    engine = Engine(await PostgresStore.open(url), queue)
    try:
        yield engine
    finally:
        await engine.close()


async def work(engine: Engine, count: int) -> list[str]:
    """Claim and leave running so many tasks."""
    gateway = LocalGateway(engine)
    spec = SessionSpec(host="ada", pid=1, version="1", queues=(), types=(TaskType(name="work"),), capacity=count)
    session = await gateway.open_session(spec)
    return [task.lease.task for task in await gateway.claim(session, limit=count, wait=5)]


async def test_a_dump_under_load_is_restored_elsewhere_and_goes_on(
    postgres_url: str, redis_url: str, elsewhere: PostgresServer, tmp_path: Path
) -> None:
    stop, acknowledged = asyncio.Event(), list[str]()
    async with engine_on(postgres_url, redis_url) as engine:

        async def load() -> None:
            while not stop.is_set():
                answers = await asyncio.gather(*(engine.submissions.submit(request()) for _ in range(50)))
                acknowledged.extend(answer.id for answer in answers)

        loading = asyncio.create_task(load())
        await until(lambda: len(acknowledged) >= 200)
        running = await work(engine, 20)
        before = list(acknowledged)
        await asyncio.to_thread(dump, postgres_url, tmp_path / "dump")
        stop.set()
        await loading
        lost = (await engine.submissions.submit(request())).id

    url = elsewhere.url("postgres")
    await asyncio.to_thread(restore, url, tmp_path / "dump")
    settings = Settings(store_url=Secret(url), queue_url=Secret(redis_url), data=tmp_path / "data")
    done = await finish_restore(settings)

    async with engine_on(url, redis_url) as engine:
        store = engine.store
        kept = {view.id: view for view in await store.queries.list_tasks(TaskFilter(), limit=100_000)}
        assert set(before) <= set(kept) <= set(acknowledged)
        assert {task for task, view in kept.items() if view.state is State.RUNNING} == set(running)
        assert lost not in kept
        # Redis knew of a later time: it has forgotten it, and is refilled from what was restored.
        assert done.forgotten > 0
        assert (done.workers, len(done.log)) == (1, 8)
        assert isinstance(engine.queue, RedisQueue)
        await Sweeper(store, engine.queue).pass_once()
        reaped = await store.sessions.reap(list((await store.sessions.beat_numbers()).items()), poison_after=3)
        engine.offer_freed(reaped.requeued)
        assert {hint.task for hint in reaped.requeued} == set(running)
        again: set[str] = set()
        while len(again) < len(kept):
            again |= set(await work(engine, 1000))
        assert again == set(kept)


async def test_events_of_a_restored_store_have_new_ids(
    postgres_url: str, elsewhere: PostgresServer, tmp_path: Path
) -> None:
    store = await PostgresStore.open(postgres_url)
    await store.submit([])
    async with asyncio.timeout(30):
        await asyncio.to_thread(dump, postgres_url, tmp_path / "dump")
    before = (await store.events.log_span()).name
    await store.close()
    url = elsewhere.url("postgres")
    await asyncio.to_thread(restore, url, tmp_path / "dump")

    done = await finish_restore(Settings(store_url=Secret(url), data=tmp_path / "data"))

    copy = await PostgresStore.open(url)
    after = (await copy.events.log_span()).name
    await copy.close()
    connection = await asyncpg.connect(url)
    triggers = await connection.fetchval("SELECT count(*) FROM pg_trigger WHERE tgname = 'audit_is_only_added_to'")
    ((_, missing),) = await fetch(connection, "wall", {})
    await connection.close()
    assert before != after == done.log
    assert triggers == 1  # the audit log guards itself there, too
    assert missing is None  # and so do tenants' things


async def test_redis_forgets_what_is_ours_and_nothing_else(redis_url: str) -> None:
    client = redis.asyncio.Redis.from_url(redis_url)
    await client.mset({f"dr*m:{number}": "x" for number in range(1200)} | {"drum:other": "y", "dream:1": "z"})
    from drumline.redis.forgetting import forget_all  # noqa: PLC0415

    assert await forget_all(redis_url, prefix="dr*m:") == 1200
    assert sorted(await client.keys("*")) == [b"dream:1", b"drum:other"]
    await client.aclose()
