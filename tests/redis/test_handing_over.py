"""A lone task goes straight to a session that waits, and to nobody else; whatever goes wrong, it is offered to all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.core.ids import SessionId, TaskId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.store import Claim, ClaimRequest, Hint
from drumline.redis import RedisQueue
from drumline.redis.keys import QueueKeys
from drumline.stores.sqlite import SqliteStore
from tests.factories import claim_request, new_id, request
from tests.redis.hints import PATIENCE, eventually, hint, know, lane, popped_tasks

ADA, BOB = SessionId(7), SessionId(8)


class Process:
    """A process whose sessions wait, and what it hears."""

    def __init__(self, queue: RedisQueue, *, takes: bool = True) -> None:
        self.queue = queue
        self.handed: list[tuple[SessionId, Hint]] = []
        self.woken: list[tuple[str, int]] = []
        self._takes = takes
        self._listening = asyncio.create_task(queue.listen(lambda *words: self.woken.append(words), self._hand))

    def _hand(self, session: SessionId, given: Hint) -> bool:
        self.handed.append((session, given))
        return self._takes

    async def wait(self, session: SessionId, *names: str) -> None:
        """Find nothing, and wait."""
        popped = await self.queue.pop(replace(claim_request(session, *names), waits=True))
        assert popped is not None
        assert popped.tasks == ()

    async def stop(self) -> None:
        self._listening.cancel()
        await asyncio.wait({self._listening})


async def heard(client: Redis, queue: RedisQueue) -> bool:
    ((_, count),) = await client.pubsub_numsub(f"{QueueKeys().wake}:{queue._origin}")
    return bool(count)


async def started(queue: RedisQueue, client: Redis, *, takes: bool = True) -> Process:
    process = Process(queue, takes=takes)
    await eventually(lambda: heard(client, queue))
    return process


async def somebody_waits(client: Redis) -> bool:
    return bool(await client.exists(QueueKeys().idle))


async def comes_true(is_so: Callable[[], bool]) -> None:
    async def so() -> bool:
        return is_so()

    await eventually(so)


@pytest.fixture
async def process(queue: RedisQueue, other: RedisQueue, client: Redis) -> AsyncIterator[Process]:
    await know(queue, "work")
    process = await started(other, client)
    yield process
    await process.stop()


async def test_a_lone_task_is_handed_to_the_session_that_has_waited_longest(
    queue: RedisQueue, process: Process, clock: ManualClock
) -> None:
    await process.wait(ADA, "work")
    clock.advance(0.1)
    await process.wait(BOB, "work")
    first, second = hint(), hint()

    assert [await queue.push([first]), await queue.push([second])] == [True, True]
    await comes_true(lambda: len(process.handed) == 2)

    assert process.handed == [(ADA, first), (BOB, second)]
    assert process.woken == []
    assert await popped_tasks(queue, "work") == []


async def test_what_is_handed_over_is_handed_once(queue: RedisQueue, process: Process) -> None:
    await process.wait(ADA, "work")
    await queue.push([hint()])

    assert not await queue.push([left := hint()])

    assert await popped_tasks(queue, "work") == [left.task]


@pytest.mark.parametrize(
    "hints",
    [[hint(), hint()], [hint(lane("other"))], [hint(lane(queue="paused"))], [hint(late=-1)]],
    ids=["many", "what it cannot run", "what is paused", "what is not due"],
)
async def test_a_session_that_waits_is_not_handed(queue: RedisQueue, process: Process, hints: Sequence[Hint]) -> None:
    await queue.push([hint(lane(queue="paused"))])
    await popped_tasks(queue, "work")
    await queue.pause_queue("paused", tenant="default")
    await process.wait(ADA, "work")

    assert not await queue.push(hints)

    assert process.handed == []


async def test_what_the_store_has_found_due_is_handed_over_whatever_time_it_is_in_redis(
    queue: RedisQueue, process: Process
) -> None:
    await process.wait(ADA, "work")
    task = hint(late=-1)

    assert await queue.push([replace(task, is_due=True)])

    await comes_true(lambda: process.handed == [(ADA, task)])


async def test_a_task_does_not_overtake_those_that_wait_in_its_lane(queue: RedisQueue, process: Process) -> None:
    await process.wait(ADA, "work")
    earlier = [hint(late=2), hint(late=1)]
    await queue.push(earlier)

    assert not await queue.push([last := hint()])

    assert await popped_tasks(queue, "work") == [*(each.task for each in earlier), last.task]


async def test_a_session_that_has_found_something_is_handed_nothing(queue: RedisQueue, process: Process) -> None:
    await process.wait(ADA, "work")
    await queue.push([hint(), hint()])
    await process.queue.pop(replace(claim_request(ADA, "work"), waits=True))

    assert not await queue.push([hint()])


async def test_a_process_that_is_gone_is_handed_nothing_and_the_others_are_woken(
    queue: RedisQueue, process: Process, client: Redis, redis_url: str, clock: ManualClock
) -> None:
    await process.wait(ADA, "work")
    await process.stop()

    async def is_gone() -> bool:
        return not await heard(client, process.queue)

    await eventually(is_gone)
    third = RedisQueue(redis_url, clock=clock)
    awake = await started(third, client)

    assert not await queue.push([task := hint()])

    await comes_true(lambda: awake.woken == [("default", 1)])
    assert await popped_tasks(queue, "work") == [task.task]
    await awake.stop()
    await third.close()


async def test_what_a_session_does_not_take_is_offered_again(
    queue: RedisQueue, other: RedisQueue, client: Redis
) -> None:
    await know(queue, "work")
    process = await started(other, client, takes=False)
    await process.wait(ADA, "work")

    assert await queue.push([task := hint()])

    found: list[TaskId] = []

    async def is_found() -> bool:
        found.extend(await popped_tasks(queue, "work"))
        return bool(found)

    await eventually(is_found)
    assert found == [task.task]
    await process.stop()


class Watched(SqliteStore):
    """Notes claims, and can keep their answers back."""

    claims: list[ClaimRequest]
    gate: asyncio.Event

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        self.claims += requests
        answers = await super().claim(requests)
        await self.gate.wait()
        return answers


RUNNER = SessionSpec(
    host="ada",
    pid=1,
    version="0",
    queues=(),
    types=(TaskType(name="work"),),
    capacity=1,
    label="a worker that runs `work`",
)


@pytest.fixture
async def store(clock: ManualClock) -> Watched:
    store = await Watched.open(":memory:", clock=clock)
    store.claims, store.gate = [], asyncio.Event()
    store.gate.set()
    return store


@pytest.fixture
async def engine(queue: RedisQueue, store: Watched, clock: ManualClock, client: Redis) -> AsyncIterator[Engine]:
    await know(queue, "work")
    engine = Engine(store, queue, EngineOptions(clock=clock, poll=3600))
    listening = asyncio.create_task(engine.listen())
    await eventually(lambda: heard(client, queue))
    yield engine
    listening.cancel()
    await asyncio.wait({listening})
    await engine.close()


def keyed() -> TaskRequest:
    """A task that may be known already: it is not stored leased, but handed over afterwards."""
    return request("work", idempotency_key=new_id())


async def waits(engine: Engine, client: Redis) -> "tuple[asyncio.Task[Sequence[object]], LocalGateway]":
    gateway = LocalGateway(engine)
    session = await gateway.open_session(RUNNER)
    claiming = asyncio.create_task(gateway.claim(session, limit=1, wait=60))
    await eventually(lambda: somebody_waits(client))
    return claiming, gateway


async def test_a_claimer_that_is_handed_a_task_asks_the_store_for_that_one(
    engine: Engine, store: Watched, client: Redis
) -> None:
    claiming, _ = await waits(engine, client)

    submitted = await engine.submissions.submit(keyed())
    async with asyncio.timeout(PATIENCE):
        assert len(await claiming) == 1

    assert [claim.hints for claim in store.claims] == [(submitted.id,)]


async def test_what_a_claimer_leaves_in_the_middle_is_given_back(engine: Engine, store: Watched, client: Redis) -> None:
    claiming, gateway = await waits(engine, client)
    store.gate.clear()
    submitted = await engine.submissions.submit(keyed())
    await comes_true(lambda: bool(store.claims))

    claiming.cancel()
    await asyncio.wait({claiming})
    store.gate.set()

    async def is_queued() -> bool:
        return (await engine.queries.get(submitted.id)).state is State.QUEUED

    await eventually(is_queued)
    again = await gateway.claim(await gateway.open_session(RUNNER), limit=1, wait=60)
    assert len(again) == 1


async def test_a_hint_that_is_wrong_leaves_the_claimer_waiting_for_another(
    engine: Engine, queue: RedisQueue, client: Redis
) -> None:
    claiming, _ = await waits(engine, client)
    assert await queue.push([hint()])
    await eventually(lambda: somebody_waits(client))

    submitted = await engine.submissions.submit(request("work"))
    async with asyncio.timeout(PATIENCE):
        (claimed,) = await claiming

    assert claimed.lease.task == submitted.id  # type: ignore[attr-defined]
