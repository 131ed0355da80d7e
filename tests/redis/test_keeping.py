"""What the read model knows of a task or job that waits lives as long as it waits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.core.ids import SessionId
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import Status
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.redis import RedisQueue, RedisReadModel
from drumline.redis.job_calls import LIVE_MS as JOB_MS
from drumline.redis.task_calls import LIVE_MS
from drumline.scheduler.read_model import ReadModelKeeper
from drumline.stores.sqlite import SqliteStore
from tests.factories import request
from tests.harness.sqlite import migrated
from tests.redis.test_read_model import written

SPEC = SessionSpec(host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=10)


@pytest.fixture
async def engine(tmp_path: Path, redis_url: str, clock: ManualClock) -> AsyncIterator[Engine]:
    queue = RedisQueue(redis_url, clock=clock)
    await queue.filled()
    engine = Engine(
        await SqliteStore.open(migrated(tmp_path / "d.db"), clock=clock),
        queue,
        EngineOptions(clock=clock, read_model=RedisReadModel(redis_url)),
    )
    yield engine
    await engine.close()


async def expire_soon(client: Redis, *keys: str) -> None:
    """Let keys have nearly expired."""
    for key in keys:
        assert await client.pexpire(key, 10_000)


def keeper_of(engine: Engine) -> ReadModelKeeper:
    """Return the duty of a scheduler that shares the engine's read model."""
    assert engine.read_model is not None
    return ReadModelKeeper(engine.store, engine.read_model, engine.notes)


async def keep(engine: Engine, client: Redis) -> None:
    """Let a scheduler renew what waits."""
    await client.delete("drumline:board:keeper")
    await keeper_of(engine).pass_once()
    await written(engine)


async def session_of(engine: Engine) -> tuple[LocalGateway, SessionId]:
    gateway = LocalGateway(engine)
    return gateway, await gateway.open_session(SPEC)


async def test_a_delayed_task_is_there_until_it_is_due(engine: Engine, client: Redis) -> None:
    task = await engine.submissions.submit(request(delay="30d"))
    await written(engine)

    for key in (f"drumline:task:{task.id}", f"drumline:task:{task.id}:status"):
        assert await client.pttl(key) > 29 * 24 * 3_600_000


async def test_a_task_that_nobody_takes_is_kept(engine: Engine, client: Redis, clock: ManualClock) -> None:
    task = await engine.submissions.submit(request())
    await written(engine)
    key = f"drumline:task:{task.id}"
    await expire_soon(client, key, key + ":status")
    clock.advance(60)

    await keep(engine, client)

    assert await client.pttl(key) > LIVE_MS - 5_000
    assert await client.pttl(key + ":status") > LIVE_MS - 5_000
    assert await client.hget(key, "taskName") == "work"


async def test_a_waiting_task_of_which_nothing_is_left_is_written_anew(
    engine: Engine, client: Redis, clock: ManualClock
) -> None:
    task = await engine.submissions.submit(request(payload={"command": "ls"}))
    await written(engine)
    await client.flushdb()
    clock.advance(60)

    await keep(engine, client)

    found = await client.hgetall(f"drumline:task:{task.id}")
    assert (found["status"], found["command"]) == ("QUEUED", "ls")
    assert await client.get(f"drumline:task:{task.id}:status") == "QUEUED"


async def test_a_blocked_task_is_kept_and_joined_with_its_job(engine: Engine, client: Redis) -> None:
    tasks = {"a": JobTaskRequest(name="work"), "b": JobTaskRequest(name="work", needs=("a",))}
    job = await engine.jobs.submit(JobRequest(name="etl", tasks=tasks))
    await written(engine)
    key = f"drumline:task:{job.tasks['b']}"
    await expire_soon(client, key, f"drumline:job:{job.id}", f"drumline:dag:{job.id}", f"drumline:dag:{job.id}:ids")

    await keep(engine, client)

    found = await client.hgetall(key)
    assert (found["status"], found["jobId"], found["taskKey"]) == ("PENDING", job.id, "b")
    assert await client.pttl(key) > LIVE_MS - 5_000
    assert await client.hgetall(f"drumline:dag:{job.id}:ids") == job.tasks
    for name in ("job:{}", "dag:{}", "dag:{}:ids"):
        assert await client.pttl("drumline:" + name.format(job.id)) > JOB_MS - 60_000


async def test_what_has_moved_on_is_not_kept(engine: Engine, client: Redis) -> None:
    task = await engine.submissions.submit(request())
    gateway, session = await session_of(engine)
    await gateway.claim(session, limit=1, wait=0)
    await written(engine)
    key = f"drumline:task:{task.id}"
    await expire_soon(client, key)

    assert engine.read_model is not None
    absent = await engine.read_model.keep_waiting([(task.id, Status.QUEUED)])  # as a scheduler saw it before the claim

    assert absent == []
    assert await client.hget(key, "status") == "PROCESSING"
    assert await client.pttl(key) <= 10_000


async def test_a_delayed_task_that_has_become_due_is_shown_so(
    engine: Engine, client: Redis, clock: ManualClock
) -> None:
    task = await engine.submissions.submit(request(delay="1h"))
    await written(engine)
    clock.advance(3700)

    await keep(engine, client)

    assert await client.hget(f"drumline:task:{task.id}", "status") == "QUEUED"
    assert await client.get(f"drumline:task:{task.id}:status") == "QUEUED"


async def test_one_scheduler_renews_at_a_time(engine: Engine, clock: ManualClock) -> None:
    await engine.submissions.submit(request())
    clock.advance(60)

    passes = [await keeper_of(engine).pass_once() for _ in range(3)]

    assert passes == [1, 0, 0]


async def test_a_status_that_only_waits_for_its_time_is_asked_of_the_store(engine: Engine, client: Redis) -> None:
    task = await engine.submissions.submit(request(delay="1h"))
    await written(engine)

    assert await client.get(f"drumline:task:{task.id}:status") == "PENDING"
    assert engine.read_model is not None
    assert await engine.read_model.status([task.id]) == [None], "it is kept for longer than a doubt about it"
