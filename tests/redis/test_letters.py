"""`dlq:{jobId}`: the tasks that failed for good, in Redis as in the store."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import Raw
from redis.asyncio import Redis

from drumline.core.bulk import BulkAct, BulkRequest
from drumline.core.clock import ManualClock, SystemClock
from drumline.core.ids import SessionId, TaskId
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report
from drumline.redis import RedisQueue, RedisReadModel
from drumline.redis.task_calls import LETTERS_MS
from drumline.scheduler.bulk import BulkDuty
from drumline.scheduler.reap import Reaper
from drumline.stores.sqlite import SqliteStore
from tests.factories import request
from tests.harness.sqlite import migrated
from tests.redis.hints import eventually

pytestmark = pytest.mark.usefixtures("patient")

SPEC = SessionSpec(host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=10)
OOPS = Failed(ErrorInfo("ValueError", "oops"), permanent=True)


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


@pytest.fixture
async def ada(engine: Engine) -> SessionId:
    return await LocalGateway(engine).open_session(SPEC)


async def run(engine: Engine, ada: SessionId, outcome: Failed | Succeeded = OOPS) -> list[TaskId]:
    """Run what is due, and return the tasks."""
    gateway = LocalGateway(engine)
    tasks = await gateway.claim(ada, limit=10, wait=0)
    await gateway.settle([Report(task.lease, outcome) for task in tasks])
    return [task.lease.task for task in tasks]


async def fail(engine: Engine, ada: SessionId) -> TaskId:
    await engine.submissions.submit(request())
    (task,) = await run(engine, ada)
    return task


async def has(client: Redis, owner: str, *tasks: str) -> None:
    async def is_so() -> bool:
        return list(await client.lrange(f"drumline:dlq:{owner}", 0, -1)) == list(tasks)

    await eventually(is_so)


async def test_a_task_without_a_job_has_a_list_of_its_own(engine: Engine, ada: SessionId, client: Redis) -> None:
    task = await fail(engine, ada)

    await has(client, task, task)
    assert 0 < await client.pttl(f"drumline:dlq:{task}") <= LETTERS_MS


async def test_the_failed_tasks_of_a_job_are_on_its_list(engine: Engine, ada: SessionId, client: Redis) -> None:
    tasks = {key: JobTaskRequest(name="work", payload=Raw(b"{}")) for key in ("a", "b", "c")}
    job = await engine.jobs.submit(JobRequest(name="etl", tasks=tasks))

    await run(engine, ada)

    await has(client, job.id, *(job.tasks[key] for key in ("a", "b", "c")))
    await engine.jobs.resume(job.id)
    await has(client, job.id)


async def test_who_is_retried_or_discarded_leaves_the_list(engine: Engine, ada: SessionId, client: Redis) -> None:
    first, second = await fail(engine, ada), await fail(engine, ada)
    await has(client, first, first)
    await has(client, second, second)

    await engine.dead_letters.retry(first)
    await engine.dead_letters.discard(second)

    await has(client, first)
    await has(client, second)
    await run(engine, ada)
    await has(client, first, first)


async def test_a_bulk_operation_clears_lists(engine: Engine, ada: SessionId, client: Redis) -> None:
    task = await fail(engine, ada)
    await has(client, task, task)

    await engine.bulk.begin(BulkRequest(act=BulkAct.DISCARD, all=True))
    await BulkDuty(engine, clock=SystemClock(), retention=timedelta(0)).pass_once()

    await has(client, task)


async def test_poison_is_on_the_list(engine: Engine, ada: SessionId, client: Redis, clock: ManualClock) -> None:
    stored = await engine.submissions.submit(request())
    await LocalGateway(engine).claim(ada, limit=1, wait=0)
    reaper = Reaper(engine, clock=clock, poison_after=1, ttl=4, every=1)

    for _ in range(6):
        await reaper.pass_once()
        clock.advance(1)

    await has(client, stored.id, stored.id)
