"""The read model of jobs: what a job is, which task needs which, and where they stand."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.core.codec import decode
from drumline.core.ids import JobId
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.schedule import ScheduleRequest
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report
from drumline.ports.read_model import JobNote
from drumline.redis import RedisQueue, RedisReadModel
from drumline.redis.job_calls import ENDED_MS
from drumline.stores.sqlite import SqliteStore
from tests.factories import new_id
from tests.harness.parts import NoReadModel
from tests.harness.sqlite import migrated
from tests.redis.hints import eventually

JOB_FIELDS = {"jobId", "jobName", "userId", "createdAt", "retryPolicy", "schedule", "status"}
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


def diamond(**fields: Any) -> JobRequest:
    needs: dict[str, tuple[str, ...]] = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
    tasks = {
        key: JobTaskRequest(name="work", needs=parents, payload=Raw(b"{}"), retries=0) for key, parents in needs.items()
    }
    return JobRequest(name="etl", owner="ada", tasks=tasks, **fields)


class Pad(NoReadModel):
    """Keeps notes about jobs."""

    def __init__(self, noted: list[JobNote]) -> None:
        self._noted = noted

    def note_job(self, note: JobNote) -> None:
        """Keep it."""
        self._noted.append(note)


async def job_hash(client: Redis, job: JobId) -> dict[str, str]:
    return {str(key): str(value) for key, value in (await client.hgetall(f"drumline:job:{job}")).items()}


async def job_status(client: Redis, job: JobId) -> str | None:
    return (await job_hash(client, job)).get("status")


async def task_status(client: Redis, task: str) -> str | None:
    found = await client.get(f"drumline:task:{task}:status")
    return None if found is None else str(found)


async def claim(gateway: LocalGateway, session: Any) -> dict[str, ClaimedTask]:
    return {task.options.key or "": task for task in await gateway.claim(session, limit=10, wait=0)}


async def test_a_new_job_has_the_fields_that_were_asked_for(engine: Engine, client: Redis) -> None:
    job = await engine.jobs.submit(diamond(retries=5))

    async def is_there() -> bool:
        return await job_status(client, job.id) == "PENDING"

    await eventually(is_there)
    found = await job_hash(client, job.id)
    assert set(found) == JOB_FIELDS
    assert (found["jobId"], found["jobName"], found["userId"], found["schedule"]) == (job.id, "etl", "ada", "null")
    assert datetime.fromisoformat(found["createdAt"]).tzinfo is not None
    assert decode(found["retryPolicy"], dict[str, Any]) == {
        "retries": 5, "backoff": {"base": 2.0, "factor": 2.0, "cap": 3600.0, "jitter": 0.0},
    }  # fmt: skip
    assert await client.pttl(f"drumline:job:{job.id}") > 0


async def test_the_schedule_of_a_job_is_json(engine: Engine, client: Redis, clock: ManualClock) -> None:
    wanted = ScheduleRequest(name="nightly", cron="* * * * *", job=diamond())
    view = await engine.schedules.create(wanted, tenant="default")
    clock.advance(60)
    fired = await engine.firings.fire()
    ((job, *_),) = fired.jobs

    async def is_there() -> bool:
        return await job_status(client, job.id) is not None

    await eventually(is_there)
    schedule = decode((await job_hash(client, job.id))["schedule"], dict[str, str])
    assert schedule["id"] == view.id
    assert datetime.fromisoformat(schedule["fireTime"]).second == 0


async def test_the_graph_is_each_task_with_the_list_of_its_parents(engine: Engine, client: Redis) -> None:
    job = await engine.jobs.submit(diamond())

    async def is_there() -> bool:
        return len(await client.hgetall(f"drumline:dag:{job.id}")) == 4

    await eventually(is_there)
    found = await client.hgetall(f"drumline:dag:{job.id}")
    assert {key: decode(value, list[str]) for key, value in found.items()} == {
        "a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"],
    }  # fmt: skip
    assert await client.pttl(f"drumline:dag:{job.id}") > 0


async def test_job_and_tasks_follow_the_run(engine: Engine, client: Redis) -> None:
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)
    job = await engine.jobs.submit(diamond())
    first = (await claim(gateway, session))["a"]

    async def is_processing() -> bool:
        return await job_status(client, job.id) == "PROCESSING"

    await eventually(is_processing)
    await gateway.settle([Report(first.lease, Succeeded())])

    async def are_released() -> bool:
        return [await task_status(client, job.tasks[key]) for key in "abcd"] == [
            "COMPLETED", "QUEUED", "QUEUED", "PENDING",
        ]  # fmt: skip

    await eventually(are_released)


async def test_a_failure_and_a_resume_are_seen(engine: Engine, client: Redis) -> None:
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)
    job = await engine.jobs.submit(diamond())
    first = (await claim(gateway, session))["a"]
    await gateway.settle([Report(first.lease, Failed(ErrorInfo("Oops", "no")))])

    async def has_failed() -> bool:
        return await job_status(client, job.id) == "FAILED" and await task_status(client, job.tasks["d"]) == "SKIPPED"

    await eventually(has_failed)
    assert await client.pttl(f"drumline:job:{job.id}") <= ENDED_MS

    await engine.jobs.resume(job.id)

    async def runs_again() -> bool:
        return (
            await job_status(client, job.id) == "PROCESSING"
            and await task_status(client, job.tasks["a"]) == "QUEUED"
            and await task_status(client, job.tasks["d"]) == "PENDING"
        )

    await eventually(runs_again)


async def test_an_end_that_arrives_after_a_resume_does_not_undo_it(redis_url: str, client: Redis) -> None:
    here, there = RedisReadModel(redis_url), RedisReadModel(redis_url)
    job = JobId(new_id())
    here.note_job(JobNote(job=job, status=JobStatus.PROCESSING, renews=True, version=8))

    async def runs_again() -> bool:
        return await job_status(client, job) == "PROCESSING"

    await eventually(runs_again)
    there.note_job(JobNote(job=job, status=JobStatus.FAILED, version=7))

    async def is_written() -> bool:
        return not there._renewals

    await eventually(is_written)
    assert await job_status(client, job) == "PROCESSING"
    there.note_job(JobNote(job=job, status=JobStatus.COMPLETED, version=9))

    async def has_completed() -> bool:
        return await job_status(client, job) == "COMPLETED"

    await eventually(has_completed)
    await here.close()
    await there.close()


async def test_every_note_about_a_job_says_what_came_before_it(redis_url: str, clock: ManualClock) -> None:
    noted: list[JobNote] = []
    engine = Engine(
        await SqliteStore.open(":memory:", clock=clock),
        RedisQueue(redis_url, clock=clock),
        EngineOptions(clock=clock, read_model=Pad(noted)),
    )
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)
    job = await engine.jobs.submit(diamond())
    first = (await claim(gateway, session))["a"]
    await gateway.settle([Report(first.lease, Failed(ErrorInfo("Oops", "no")))])
    await engine.jobs.resume(job.id)
    await engine.jobs.cancel(job.id)
    await engine.close()

    statuses = [note.status for note in noted if note.facts is None]
    assert statuses == [JobStatus.PROCESSING, JobStatus.FAILED, JobStatus.PROCESSING, JobStatus.CANCELLED]
    versions = [note.version for note in noted if note.facts is None]
    assert versions == sorted(set(versions))
    assert versions[0] > 0


async def test_a_start_that_arrives_late_does_not_undo_an_end(redis_url: str, client: Redis) -> None:
    board = RedisReadModel(redis_url)
    job = JobId(new_id())
    board.note_job(JobNote(job=job, status=JobStatus.COMPLETED))
    board.note_job(JobNote(job=job, status=JobStatus.PROCESSING))

    async def is_written() -> bool:
        return not board._renewals

    await eventually(is_written)
    assert await job_status(client, job) == "COMPLETED"
    board.note_job(JobNote(job=job, status=JobStatus.PROCESSING, renews=True))

    async def goes_on() -> bool:
        return await job_status(client, job) == "PROCESSING"

    await eventually(goes_on)
    await board.close()
