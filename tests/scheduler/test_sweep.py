"""Whatever Redis loses comes back from the store by itself; what it holds is left alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from drumline.core.clock import Instant, ManualClock
from drumline.core.ids import SessionId, TaskId
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.queue import Popped
from drumline.ports.store import Hint
from drumline.redis import RedisQueue
from drumline.redis.keys import QueueKeys
from drumline.scheduler.sweep import DEPTH, HORIZON_MS, Sweeper
from drumline.stores.sqlite import SqliteStore
from tests.factories import claim, claim_request, new_id, open_session, state_of, submit
from tests.harness.sqlite import migrated

LANE = Lane("default", "default", "work", 0)


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(migrated(tmp_path / "drumline.db"), clock=clock)
    yield store
    await store.close()


@pytest.fixture
async def queue(redis_url: str, clock: ManualClock) -> AsyncIterator[RedisQueue]:
    queue = RedisQueue(redis_url, clock=clock)
    yield queue
    await queue.close()


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url, decode_responses=True)
    yield client
    await client.aclose()


@pytest.fixture
def sweeper(store: SqliteStore, queue: RedisQueue) -> Sweeper:
    return Sweeper(store, queue)


async def offered(queue: RedisQueue, limit: int = 100) -> list[TaskId]:
    popped = await queue.pop(claim_request(SessionId(1), limit=limit))
    assert isinstance(popped, Popped)
    return list(popped.tasks)


async def passes(sweeper: Sweeper, count: int) -> int:
    return sum([await sweeper.pass_once() for _ in range(count)])


async def test_an_empty_queue_is_filled_from_the_store(store: SqliteStore, queue: RedisQueue, sweeper: Sweeper) -> None:
    tasks = [await submit(store, priority=priority) for priority in (0, 9, 5)]

    await sweeper.pass_once()

    assert await offered(queue) == [tasks[1], tasks[2], tasks[0]]


async def test_what_is_in_place_is_left_alone(store: SqliteStore, sweeper: Sweeper) -> None:
    await submit(store)
    await sweeper.pass_once()

    assert await passes(sweeper, 5) == 0


async def test_flushall_heals_in_one_pass(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, client: Redis
) -> None:
    task = await submit(store)
    await sweeper.pass_once()
    await client.flushdb()

    lost = await queue.pop(claim_request(SessionId(1)))
    await sweeper.pass_once()

    assert lost is None  # until the refill the store chooses
    assert await offered(queue) == [task]


async def test_another_generation_is_a_reason_to_refill(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, client: Redis
) -> None:
    await sweeper.pass_once()
    task = await submit(store)
    await client.set(QueueKeys().generation, "of an old dump")

    await sweeper.pass_once()

    assert await offered(queue) == [task]


async def test_an_old_dump_is_harmless(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, client: Redis, redis_url: str
) -> None:
    done, waiting = await submit(store), await submit(store)
    await sweeper.pass_once()
    raw = Redis.from_url(redis_url)
    dump = {key: value for key in await raw.keys() if (value := await raw.dump(key)) is not None}
    ada = await open_session(store)
    await claim(store, ada, hints=(done,))
    await client.flushdb()
    await sweeper.pass_once()
    await client.flushdb()
    for key, value in dump.items():
        await raw.restore(key, 0, value)
    await raw.aclose()

    await sweeper.pass_once()
    hints = await offered(queue)
    claimed = await claim(store, ada, hints=tuple(hints))

    assert [task.lease.task for task in claimed] == [waiting]


async def test_a_hint_that_came_after_the_hint_of_a_later_act_does_not_hide_its_task(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, clock: ManualClock
) -> None:
    task = await submit(store)
    await sweeper.pass_once()
    # It waited with a deadline, and was woken by another process, whose push came first.
    await queue.push([Hint(task, LANE, Instant(clock.now() + 300_000))])

    hidden = await offered(queue)
    await passes(sweeper, 2)

    assert hidden == []
    assert await offered(queue) == [task]


async def test_a_hint_that_is_too_early_is_left_alone(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, clock: ManualClock
) -> None:
    task = await submit(store, delay=5)
    await sweeper.pass_once()
    await queue.push([Hint(task, LANE, clock.now())])

    assert await passes(sweeper, 3) == 0


async def test_a_hint_that_was_never_pushed_is_found(store: SqliteStore, queue: RedisQueue, sweeper: Sweeper) -> None:
    await sweeper.pass_once()
    task = await submit(store)

    await passes(sweeper, 2)

    assert await offered(queue) == [task]


async def test_a_hint_whose_taker_died_before_its_claim_comes_back(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper
) -> None:
    task = await submit(store)
    await sweeper.pass_once()
    assert await offered(queue) == [task]

    await passes(sweeper, 2)

    assert await offered(queue) == [task]
    assert await state_of(store, task) is State.QUEUED


async def test_a_hint_that_is_being_claimed_is_not_put_back_at_once(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper
) -> None:
    task = await submit(store)
    await sweeper.pass_once()
    await offered(queue)

    await sweeper.pass_once()
    meanwhile = await offered(queue)
    await claim(store, await open_session(store), hints=(task,))
    await passes(sweeper, 3)

    assert meanwhile == []
    assert await offered(queue) == []


async def test_many_lost_hints_come_back_in_few_passes(store: SqliteStore, queue: RedisQueue, sweeper: Sweeper) -> None:
    await sweeper.pass_once()
    tasks = [await submit(store) for _ in range(DEPTH * 8)]

    await passes(sweeper, 5)

    assert len(await offered(queue, limit=10_000)) == len(tasks)


async def test_tasks_get_their_hints_when_their_time_is_near(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, client: Redis, clock: ManualClock
) -> None:
    await sweeper.pass_once()
    empty = await client.dbsize()
    task = await submit(store, delay=HORIZON_MS / 1000 + 60)

    await sweeper.pass_once()
    far = await client.dbsize()
    clock.advance(61)
    await sweeper.pass_once()
    near = await client.dbsize()
    clock.advance(HORIZON_MS / 1000)

    assert far == empty
    assert near > empty
    assert await offered(queue) == [task]


async def test_a_scheduler_that_was_away_catches_up_with_the_edge(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, clock: ManualClock
) -> None:
    await sweeper.pass_once()
    tasks = [await submit(store, delay=HORIZON_MS / 1000 + seconds) for seconds in (10, 200, 400)]
    clock.advance(HORIZON_MS / 1000 + 500)

    await sweeper.pass_once()

    assert await offered(queue) == tasks


async def test_pauses_are_restored_with_the_hints(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, client: Redis
) -> None:
    await submit(store, queue="mail")
    free = await submit(store)
    await store.control.pause_queue("mail", tenant="default")
    await sweeper.pass_once()
    await client.flushdb()

    await sweeper.pass_once()

    assert await offered(queue) == [free]


async def test_a_lane_longer_than_a_refill_stays_crowded_until_it_is_short(
    store: SqliteStore, redis_url: str, clock: ManualClock
) -> None:
    queue = RedisQueue(redis_url, clock=clock, most_per_lane=50)
    sweeper = Sweeper(store, queue)
    tasks = [await submit(store) for _ in range(80)]
    await sweeper.pass_once()

    first = await offered(queue, limit=50)
    dry = await queue.pop(claim_request(SessionId(1)))
    ada = await open_session(store)
    await claim(store, ada, hints=tuple(first), limit=50)
    await passes(sweeper, 2)
    rest = await offered(queue, limit=100)
    await claim(store, ada, hints=tuple(rest), limit=100)
    await passes(sweeper, 3)
    after = await queue.pop(claim_request(SessionId(1)))

    assert dry == Popped((), None, asks_store=True)
    assert (first, rest) == (tasks[:50], tasks[50:])
    assert after == Popped(())
    await queue.close()


async def test_a_queue_that_is_away_is_left_alone(store: SqliteStore, clock: ManualClock) -> None:
    queue = RedisQueue("redis://127.0.0.1:1", clock=clock)

    assert await Sweeper(store, queue).pass_once() == 0

    await queue.close()


async def test_two_schedulers_do_no_harm_to_each_other(
    store: SqliteStore, queue: RedisQueue, sweeper: Sweeper, client: Redis
) -> None:
    other = Sweeper(store, queue)
    tasks = [await submit(store) for _ in range(20)]

    await sweeper.pass_once()
    await other.pass_once()
    await client.flushdb()
    await other.pass_once()
    await sweeper.pass_once()
    settled = await passes(sweeper, 3) + await passes(other, 3)

    assert settled == 0
    assert await offered(queue) == tasks


async def test_the_servers_clock_follows_the_stores(store: SqliteStore, redis_url: str, clock: ManualClock) -> None:
    queue = RedisQueue(redis_url)  # without a given time: the server tells it
    await Sweeper(store, queue).pass_once()
    await queue.restore([Hint(new_id(), LANE, Instant(clock.now() + 60_000))])

    popped = await queue.pop(claim_request(SessionId(1)))

    assert popped is not None
    assert popped.tasks == ()  # by the server's own clock it would be long overdue
    await queue.close()
