"""Claims through the engine with hints from Redis: the same promises as without, on either store."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec import Raw
from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.core.durable import RestartRequest
from drumline.core.ids import SessionId, TaskId
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report
from drumline.ports.store import Store
from drumline.redis import RedisQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.factories import request
from tests.harness.sqlite import migrated


@dataclass
class Office:
    """An engine with one worker in it, and time that moves by hand."""

    engine: Engine
    queue: RedisQueue
    gateway: LocalGateway
    session: SessionId

    async def submit(self, name: str = "work", **fields: object) -> TaskId:
        task = (await self.engine.submissions.submit(request(name, **fields))).id
        await self.engine._offers.drained()
        return task

    async def claim(self, limit: int = 10) -> list[ClaimedTask]:
        return list(await self.gateway.claim(self.session, limit=limit, wait=0))

    async def claim_ids(self, limit: int = 10) -> list[TaskId]:
        return [task.lease.task for task in await self.claim(limit)]


async def open_worker(gateway: LocalGateway, *names: str) -> SessionId:
    types = tuple(TaskType(name=name) for name in names or ("work", "other"))
    return await gateway.open_session(SessionSpec(host="ada", pid=1, version="0", queues=(), types=types, capacity=10))


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    url: str = (
        request.getfixturevalue("postgres_url") if request.param == "postgres" else str(migrated(tmp_path / "d.db"))
    )
    return url


@pytest.fixture
async def office(address: str, redis_url: str, clock: ManualClock) -> AsyncIterator[Office]:
    store: Store
    if address.startswith("postgresql:"):
        store = await PostgresStore.open(address, clock=clock)
    else:
        store = await SqliteStore.open(address, clock=clock)
    queue = RedisQueue(redis_url, clock=clock, most_per_lane=10)
    await queue.filled()
    engine = Engine(store, queue, EngineOptions(clock=clock))
    gateway = LocalGateway(engine)
    yield Office(engine, queue, gateway, await open_worker(gateway))
    await engine.close()


async def test_submitted_tasks_are_claimed_best_first(office: Office) -> None:
    low, high, normal = [await office.submit(priority=priority) for priority in ("low", "high", "normal")]

    assert await office.claim_ids() == [high, normal, low]


async def test_delayed_tasks_are_claimed_when_they_are_due(office: Office, clock: ManualClock) -> None:
    task = await office.submit(delay=5)

    early = await office.claim_ids()
    clock.advance(5)

    assert (early, await office.claim_ids()) == ([], [task])


async def test_a_failed_task_is_claimed_again_after_its_backoff(office: Office, clock: ManualClock) -> None:
    await office.submit()
    (first,) = await office.claim()
    await office.gateway.settle([Report(first.lease, Failed(ErrorInfo("Oops", "no")))])
    await office.engine._offers.drained()

    early = await office.claim()
    clock.advance(10)
    (second,) = await office.claim()

    assert early == []
    assert second.attempt == 2


async def test_many_claimers_share_without_overlap(office: Office) -> None:
    tasks = [await office.submit() for _ in range(8)]

    claims = await asyncio.gather(*[office.claim_ids(limit=3) for _ in range(8)])

    assert sorted(task for claim in claims for task in claim) == sorted(tasks)


async def test_more_tasks_than_redis_holds_are_claimed_in_order_all_the_same(office: Office) -> None:
    tasks = [await office.submit() for _ in range(35)]

    claimed: list[TaskId] = []
    while claim := await office.claim_ids(limit=4):
        claimed += claim

    assert claimed == tasks


async def test_after_flushall_work_goes_on_before_any_sweep(office: Office, client: Redis) -> None:
    tasks = [await office.submit() for _ in range(3)]
    await client.flushdb()

    assert await office.claim_ids() == tasks


async def test_hints_that_are_all_wrong_do_not_hold_up_the_rest(office: Office) -> None:
    stale = [await office.submit() for _ in range(3)]
    await office.engine.store.control.cancel(stale)
    task = await office.submit(priority=-1)
    await office.queue.drop([task])

    assert await office.claim_ids(limit=3) == [task]


async def test_a_cancelled_task_is_not_claimed(office: Office) -> None:
    task = await office.submit()
    await office.engine.control.cancel(task)

    assert await office.claim_ids() == []


async def test_a_task_whose_priority_fell_waits_for_its_new_turn(office: Office) -> None:
    first, second = await office.submit(priority=9), await office.submit(priority=5)

    await office.engine.control.reschedule(first, priority=0)
    await office.engine._offers.drained()

    assert await office.claim_ids(limit=1) == [second]
    assert await office.claim_ids(limit=1) == [first]


async def test_a_paused_queue_hands_out_nothing_and_keeps_its_hints(office: Office) -> None:
    task = await office.submit()
    await office.engine.control.pause_queue("default", tenant="default")

    paused = await office.claim_ids()
    await office.engine.control.resume_queue("default", tenant="default")

    assert (paused, await office.claim_ids()) == ([], [task])


async def test_a_task_that_the_worker_cannot_run_waits_for_one_who_can(office: Office) -> None:
    task = await office.submit("rare")
    nobody = await office.claim_ids()

    bob = await open_worker(office.gateway, "rare")
    (claimed,) = await office.gateway.claim(bob, limit=5, wait=0)

    assert nobody == []
    assert claimed.lease.task == task


async def test_an_idle_claimer_starts_a_task_of_another_process(office: Office, redis_url: str) -> None:
    listening = asyncio.create_task(office.engine.listen())
    claiming = asyncio.create_task(office.gateway.claim(office.session, limit=1, wait=30))
    other = Engine(
        office.engine.store, RedisQueue(redis_url, clock=office.engine.clock), EngineOptions(clock=office.engine.clock)
    )

    submitted = await other.submissions.submit(request())
    async with asyncio.timeout(20):
        (claimed,) = await claiming

    assert claimed.lease.task == submitted.id
    listening.cancel()
    await asyncio.wait({listening})
    await other._offers.drained()
    await other.queue.close()


async def test_completed_work_leaves_nothing_behind_in_redis(office: Office, client: Redis) -> None:
    for _ in range(5):
        await office.submit()
    claimed = await office.claim()
    await office.gateway.settle([Report(task.lease, Succeeded()) for task in claimed])

    kinds = {str(key).partition("{queue}:")[2].partition(":")[0] for key in await client.keys()}

    assert kinds == {"generation", "ability"}


async def test_a_task_that_restarts_is_hinted_at_and_claimed_with_its_new_payload(office: Office) -> None:
    task = await office.submit(payload={"n": 1})
    for number in range(2, 5):
        (claimed,) = await office.claim()
        answer = await office.gateway.restart(
            RestartRequest(lease=claimed.lease, payload=Raw(f'{{"n":{number}}}'.encode()))
        )
        await office.engine._offers.drained()
        assert answer is State.QUEUED
    (last,) = await office.claim()

    assert (last.lease.task, bytes(last.payload), last.attempt) == (task, b'{"n":4}', 1)
