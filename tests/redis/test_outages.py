"""An outage of Redis is nobody's error, costs a moment at most, and is over by itself."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from drumline.core.clock import ManualClock
from drumline.core.errors import Unavailable
from drumline.core.ids import SessionId
from drumline.redis import RedisQueue
from drumline.redis.address import Address
from drumline.redis.client import ANSWER_SECONDS, CONNECT_SECONDS, RedisCall, RedisClient
from drumline.redis.keys import QueueKeys
from drumline.redis.queue import MOST_UNSENT
from scripts.programs import missing
from tests.factories import claim_request
from tests.harness.proxy import Proxy
from tests.harness.redis import RedisServer
from tests.redis.hints import eventually, hint, popped_tasks, pushed

pytestmark = pytest.mark.faults

A_MOMENT = CONNECT_SECONDS + ANSWER_SECONDS * 2 + 0.5
ASK = claim_request(SessionId(1))


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A Redis of the test's own, to be stopped."""
    if reason := missing("redis"):
        pytest.skip(reason)
    server = RedisServer()
    yield server
    server.remove()


@pytest.fixture
async def own_queue(server: RedisServer, clock: ManualClock) -> AsyncIterator[RedisQueue]:
    queue = RedisQueue(server.url(), clock=clock)
    await queue.filled()
    yield queue
    await queue.close()


async def is_back(queue: RedisQueue) -> bool:
    return await queue.sync(now=ManualClock().now()) is not None


async def test_a_wrong_address_is_told_before_anybody_asks_for_something(clock: ManualClock) -> None:
    queue = RedisQueue("redis://127.0.0.1:1", clock=clock)

    with capture_logs() as logs:
        told = partial(asyncio.to_thread, lambda: bool(logs))
        listening = asyncio.create_task(queue.listen(lambda _queue, _count: None))
        await eventually(told)

    assert logs[0]["event"] == "redis.unavailable"
    assert "127.0.0.1:1" in logs[0]["error"]
    listening.cancel()
    await asyncio.wait({listening})
    await queue.close()


async def test_a_redis_that_is_away_gives_no_hints_and_no_errors(clock: ManualClock) -> None:
    queue = RedisQueue("redis://127.0.0.1:1", clock=clock)

    await queue.prepare()
    await queue.push([hint()])
    await queue.drop([hint().task])
    await queue.pause_queue("mail", tenant="default")

    assert await queue.pop(ASK) is None
    with pytest.raises(Unavailable):
        await queue.check()
    await queue.close()


async def test_the_first_push_of_a_queue_that_was_prepared_needs_no_new_connection(
    proxy: Proxy, redis_url: str, queue: RedisQueue, clock: ManualClock
) -> None:
    far = RedisQueue(proxy.url(redis_url), clock=clock)
    await far.prepare()
    proxy.refuse()

    tasks = await pushed(far, hint())

    assert await popped_tasks(queue) == tasks
    await far.close()


async def test_an_outage_is_told_when_it_begins_and_when_it_ends(server: RedisServer, own_queue: RedisQueue) -> None:
    with capture_logs() as logs:
        server.kill()
        for _ in range(20):
            assert await own_queue.pop(ASK) is None
        server.start()
        await eventually(lambda: is_back(own_queue))

    assert [entry["event"] for entry in logs] == ["redis.unavailable", "redis.available"]


async def test_while_redis_is_away_nobody_waits_for_it(server: RedisServer, own_queue: RedisQueue) -> None:
    server.freeze()
    try:
        await own_queue.pop(ASK)
        began = time.monotonic()
        for _ in range(100):
            assert await own_queue.pop(ASK) is None
        took = time.monotonic() - began
    finally:
        server.thaw()

    assert took < 10 * ANSWER_SECONDS  # a tenth of what a hundred waits would take


async def test_a_frozen_redis_costs_a_moment(server: RedisServer, own_queue: RedisQueue) -> None:
    server.freeze()
    try:
        async with asyncio.timeout(A_MOMENT):
            assert await own_queue.pop(ASK) is None
    finally:
        server.thaw()


async def test_health_shows_an_outage_and_its_end(server: RedisServer, own_queue: RedisQueue) -> None:
    assert await own_queue.check() == {"queue": "Redis", "is_filled": True}

    server.kill()
    with pytest.raises(Unavailable):
        await own_queue.check()
    server.start()

    assert await own_queue.check() == {"queue": "Redis", "is_filled": False}


async def test_hints_pushed_during_an_outage_arrive_after_it(server: RedisServer, own_queue: RedisQueue) -> None:
    server.freeze()
    tasks = await pushed(own_queue, hint(late=2))
    tasks += await pushed(own_queue, hint(late=1))
    server.thaw()

    await eventually(lambda: is_back(own_queue))

    async def are_there() -> bool:
        return await own_queue.absent([]) is not None and not own_queue._unsent

    await eventually(are_there)
    assert await popped_tasks(own_queue) == tasks


async def test_after_too_many_lost_hints_a_refill_is_asked_for(server: RedisServer, own_queue: RedisQueue) -> None:
    client = Redis.from_url(server.url())
    server.freeze()
    await own_queue.push([hint() for _ in range(MOST_UNSENT + 1)])
    server.thaw()

    async def is_unfilled() -> bool:
        return not await client.exists(QueueKeys().generation)

    await eventually(is_unfilled)
    assert await own_queue.pop(ASK) is None
    await client.aclose()


async def test_a_restarted_redis_gives_nothing_until_it_is_refilled(server: RedisServer, own_queue: RedisQueue) -> None:
    await own_queue.push([hint()])
    server.kill()
    server.start()
    await eventually(lambda: is_back(own_queue))

    before = await own_queue.pop(ASK)
    await own_queue.filled()

    assert before is None
    assert await popped_tasks(own_queue) == []


async def test_scripts_that_redis_forgot_are_sent_again(queue: RedisQueue, client: Redis) -> None:
    (task,) = await pushed(queue, hint())
    await client.script_flush()

    assert await popped_tasks(queue) == [task]

    await client.script_flush()
    tasks = await asyncio.gather(*[pushed(queue, hint()) for _ in range(10)])
    assert len(await popped_tasks(queue)) == len(tasks)


async def test_broken_connections_are_replaced_without_a_word(proxy: Proxy, redis_url: str, clock: ManualClock) -> None:
    queue = RedisQueue(proxy.url(redis_url), clock=clock)
    await queue.filled()
    (task,) = await pushed(queue, hint())

    proxy.reset()
    await asyncio.sleep(0.05)  # let the reset arrive

    assert await popped_tasks(queue) == [task]
    await queue.close()


async def test_a_redis_that_is_full_is_as_good_as_away(server: RedisServer, own_queue: RedisQueue) -> None:
    client = Redis.from_url(server.url())
    await client.config_set("maxmemory", "1")

    await own_queue.push([hint()])

    assert await own_queue.pop(ASK) is None
    await client.config_set("maxmemory", "0")
    await eventually(lambda: is_back(own_queue))
    await client.aclose()


async def test_an_outage_is_noticed_to_end_also_when_something_went_wrong_after_the_last_one(
    proxy: Proxy, redis_url: str
) -> None:
    ended: list[int] = []

    async def fail_once() -> None:
        ended.append(len(ended))
        if len(ended) == 1:
            raise ValueError("a fault of ours")

    client = RedisClient(Address(proxy.url(redis_url)), probe=RedisCall("PING", (), plain=True), recovered=fail_once)
    for count in (1, 2):
        proxy.refuse()
        proxy.reset()
        assert await client.run(RedisCall("PING", (), plain=True)) is None
        proxy.heal()
        await eventually(partial(_has, ended, count))
    await client.close()


async def _has(ended: list[int], count: int) -> bool:
    return len(ended) == count
