"""A user of Redis with rights on keys and channels under the prefix is enough, and a refusal is reported."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import structlog
from redis.asyncio import Redis

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.clock import ManualClock
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.rate import Rate
from drumline.core.session import SessionSpec, TaskType
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report
from drumline.ports.read_model import LetterNote
from drumline.redis import RedisLimiter, RedisQueue, RedisReadModel
from drumline.redis.forgetting import forget_all
from drumline.redis.keys import FAMILIES
from drumline.scheduler.sweep import Sweeper
from drumline.stores.sqlite import SqliteStore
from tests.api.conftest import KEY
from tests.factories import request
from tests.harness.sqlite import migrated
from tests.redis.hints import eventually
from tests.redis.test_keeping import keeper_of

USER = "drum"
SPEC = SessionSpec(host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=10)


@pytest.fixture
async def restricted_url(redis_url: str, client: Redis) -> AsyncIterator[str]:
    """The address with a user that may do everything under the prefix, and nothing besides."""
    await allow(client, "~drumline:*", "&drumline:*", "+@all")
    target = urlsplit(redis_url)
    yield f"redis://{USER}:secret@{target.hostname}:{target.port}{target.path}"
    await client.acl_deluser(USER)


async def allow(client: Redis, *rules: str) -> None:
    command: Any = client.execute_command  # without types
    await command("ACL", "SETUSER", USER, "reset", "on", ">secret", *rules)


@pytest.fixture
async def engine(tmp_path: Path, restricted_url: str, clock: ManualClock) -> AsyncIterator[Engine]:
    queue = RedisQueue(restricted_url, clock=clock)
    engine = Engine(
        await SqliteStore.open(migrated(tmp_path / "d.db"), clock=clock),
        queue,
        EngineOptions(
            clock=clock, read_model=RedisReadModel(restricted_url), limiter=RedisLimiter(restricted_url, clock=clock)
        ),
    )
    yield engine
    await engine.close()


@pytest.fixture
async def http(engine: Engine, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-API-Key": KEY}) as client:
        yield client


async def run_something(engine: Engine, clock: ManualClock) -> tuple[str, str]:
    """Let tasks and a job of every kind pass, and return the ids of the job and of its failed task."""
    queue = engine.queue
    assert isinstance(queue, RedisQueue)
    await Sweeper(engine.store, queue).pass_once()
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)
    await engine.submissions.submit(request(retries=1))
    (retried,) = await gateway.claim(session, limit=1, wait=0)
    await gateway.settle([Report(retried.lease, Failed(ErrorInfo("Oops", "no")))])
    clock.advance(60)
    tasks = {"a": JobTaskRequest(name="work", retries=0), "b": JobTaskRequest(name="work", needs=("a",), retries=0)}
    job = await engine.jobs.submit(JobRequest(name="etl", tasks=tasks))
    for claimed in await gateway.claim(session, limit=9, wait=0):
        outcome = Failed(ErrorInfo("Oops", "no")) if claimed.options.key else Succeeded()
        await gateway.settle([Report(claimed.lease, outcome)])
    await queue.pause_queue("q", tenant="default")
    await keeper_of(engine).pass_once()
    return job.id, job.tasks["a"]


def note_letter(engine: Engine, job: str, failed: str) -> None:
    """Note a dead letter again: on a busy machine the first note may have been left out."""
    assert engine.read_model is not None
    engine.read_model.note_letters([LetterNote(task=TaskId(failed), job=JobId(job), is_there=True)])


async def test_rights_under_the_prefix_are_enough_for_every_key(
    engine: Engine, client: Redis, clock: ManualClock, http: httpx.AsyncClient
) -> None:
    job, failed = await run_something(engine, clock)

    async def is_written() -> bool:
        note_letter(engine, job, failed)
        names = (f"drumline:job:{job}", f"drumline:dag:{job}", f"drumline:dag:{job}:ids", f"drumline:dlq:{job}")
        return await client.exists(*names) == len(names)

    await eventually(is_written)
    keys = [key async for key in client.scan_iter()]
    assert [key for key in keys if not key.startswith("drumline:")] == []
    assert any(key.startswith("drumline:order:{drumline:") for key in keys), "the order of notes is kept too"
    health = (await http.get("/actuator/health")).json()
    assert health["components"]["redis"]["status"] == "UP"


@pytest.mark.parametrize(
    "rules",
    [
        ("~drumline:*", "&drumline:*", "+@all", "-@write"),
        ("~elsewhere:*", "&drumline:*", "+@all"),
        ("~drumline:*", "&elsewhere:*", "+@all"),
        ("~drumline:*", "&drumline:*", "+@all", "-evalsha", "-eval"),
    ],
    ids=["no writes", "other keys", "other channels", "no scripts"],
)
async def test_a_refusal_is_told_by_the_health_page_and_once_in_the_log(
    engine: Engine, client: Redis, http: httpx.AsyncClient, rules: tuple[str, ...]
) -> None:
    await allow(client, *rules)

    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            await engine.submissions.submit(request())
            await http.get("/actuator/health")
            await engine.queue.prepare()
        answer = await http.get("/actuator/health")
        health = answer.json()

    assert answer.status_code == 200, "tasks are stored without Redis"
    assert health["status"] == "DEGRADED"
    assert health["components"]["redis"]["status"] == "DOWN"
    assert "Redis refuses: " in health["components"]["redis"]["details"]["error"]
    words = [line["event"] for line in lines if line["event"].startswith("redis.")]
    assert "redis.available" not in words
    assert words.count("redis.unavailable") <= 3, "each of queue, read model and limiter says it once"


async def test_a_read_model_that_is_refused_alone_is_told_too(client: Redis, http: httpx.AsyncClient) -> None:
    await allow(client, "~drumline:{queue}:*", "~drumline:rate:*", "&drumline:*", "+@all")

    health = (await http.get("/actuator/health")).json()

    redis = health["components"]["redis"]
    assert (health["status"], redis["status"]) == ("DEGRADED", "DEGRADED")
    assert "Redis refuses: " in redis["details"]["read_model"]


async def test_once_it_is_allowed_everything_is_written_again(
    engine: Engine, client: Redis, http: httpx.AsyncClient
) -> None:
    await allow(client, "~elsewhere:*", "&*", "+@all")
    await engine.submissions.submit(request())
    assert (await http.get("/actuator/health")).json()["status"] == "DEGRADED"

    await allow(client, "~drumline:*", "&drumline:*", "+@all")

    async def is_well() -> bool:
        health = (await http.get("/actuator/health")).json()
        return bool(health["components"]["redis"]["status"] == "UP")

    await eventually(is_well)


@pytest.mark.parametrize("prefix", ["", "other:", "{app}:"])
async def test_every_key_begins_with_the_prefix_and_one_of_the_families(
    tmp_path: Path, redis_url: str, client: Redis, clock: ManualClock, prefix: str
) -> None:
    queue = RedisQueue(redis_url, clock=clock, prefix=prefix)
    engine = Engine(
        await SqliteStore.open(migrated(tmp_path / "d.db"), clock=clock),
        queue,
        EngineOptions(clock=clock, read_model=RedisReadModel(redis_url, prefix=prefix)),
    )
    limiter = RedisLimiter(redis_url, clock=clock, prefix=prefix)
    await limiter.take("k", Rate(100, 60.0))
    await client.set("unrelated", "1")
    job, failed = await run_something(engine, clock)

    async def is_written() -> bool:
        note_letter(engine, job, failed)
        return bool(await client.exists(f"{prefix}dlq:{job}"))

    await eventually(is_written)
    await limiter.close()
    await engine.close()
    families = tuple(prefix + family for family in FAMILIES)
    assert [key async for key in client.scan_iter() if not key.startswith(families)] == ["unrelated"]
    assert await forget_all(redis_url, prefix=prefix) > 5
    assert [key async for key in client.scan_iter()] == ["unrelated"], "what others keep there is left alone"
