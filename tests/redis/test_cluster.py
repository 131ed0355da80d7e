"""The same queue and board on a Redis Cluster: every script finds its keys on one node."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from drumline.core.clock import ManualClock
from drumline.core.state import Status
from drumline.ports.read_model import Moment, Note
from drumline.redis import RedisQueue, RedisReadModel
from tests.factories import new_id
from tests.harness.redis_cluster import RedisClusterServers
from tests.redis.hints import NOW, eventually, hint, lane, pop, popped_tasks, pushed

pytestmark = pytest.mark.faults


@pytest.fixture
async def spread(cluster: RedisClusterServers, clock: ManualClock) -> AsyncIterator[RedisQueue]:
    queue = RedisQueue(cluster.url, prefix=f"test-{new_id()}:", clock=clock)

    async def is_up() -> bool:
        return await queue.filled() is not None

    await eventually(is_up)
    yield queue
    await queue.close()


async def test_hints_are_pushed_popped_dropped_and_restored(spread: RedisQueue) -> None:
    one, two, gone = await pushed(spread, hint(late=3), hint(lane("other", priority=1)), hint(late=1))
    lost = hint(late=2)

    await spread.drop([gone])
    absent = await spread.absent([lost])
    await spread.restore([lost], bounds={lane(): None})
    queue_state = await spread.sync(now=NOW, paused=[("default", "mail")])

    assert absent == frozenset({lost.task})
    assert queue_state is not None
    assert queue_state.generation is not None
    assert await popped_tasks(spread, "work", "other") == [two, one, lost.task]
    assert (await pop(spread)).tasks == ()


async def test_calls_at_the_same_time_do_not_disturb_each_other(spread: RedisQueue) -> None:
    tasks = await asyncio.gather(*[pushed(spread, hint(late=number)) for number in range(20)])
    pops = await asyncio.gather(*[pop(spread, limit=3) for _ in range(10)])

    taken = [task for each in pops for task in each.tasks]
    assert sorted(taken) == sorted(task for (task,) in tasks)


async def test_wake_ups_reach_listeners_on_any_node(spread: RedisQueue, cluster: RedisClusterServers) -> None:
    other = RedisQueue(cluster.url, prefix=spread._keys.due.partition("{")[0])
    heard = asyncio.Event()
    listening = asyncio.create_task(other.listen(lambda _queue, _count: heard.set()))

    async def is_heard() -> bool:
        await spread.push([hint()])
        return heard.is_set()

    await eventually(is_heard)
    listening.cancel()
    await asyncio.wait({listening})
    await other.close()


async def test_the_board_spreads_over_the_nodes(cluster: RedisClusterServers) -> None:
    board = RedisReadModel(cluster.url, prefix=f"test-{new_id()}:")
    tasks = [new_id() for _ in range(20)]
    board.note([Note(task=task, moment=Moment.CLAIMED, status=Status.PROCESSING) for task in tasks])

    async def is_written() -> bool:
        return await board.status(tasks) == [Status.PROCESSING] * len(tasks)

    await eventually(is_written)
    await board.close()
