"""Pushes wake those who wait in other processes, once, and soon."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.redis import RedisQueue
from drumline.redis.keys import QueueKeys
from drumline.redis.wakeups import message_of, parse
from tests.redis.hints import PATIENCE, eventually, hint, lane


class Ear:
    """Somebody in another process who waits."""

    def __init__(self, queue: RedisQueue) -> None:
        self.heard: list[tuple[str, int]] = []
        self.rang = asyncio.Event()
        self.listening = asyncio.create_task(queue.listen(self._woken))

    def _woken(self, queue: str, count: int) -> None:
        self.heard.append((queue, count))
        self.rang.set()

    async def ring(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.rang.wait()
        self.rang.clear()

    async def stop(self) -> None:
        self.listening.cancel()
        await asyncio.wait({self.listening})


async def listeners(client: Redis) -> int:
    ((_, count),) = await client.pubsub_numsub(QueueKeys().wake)
    return int(count)


@pytest.fixture
async def other(redis_url: str, clock: ManualClock) -> AsyncIterator[RedisQueue]:
    other = RedisQueue(redis_url, clock=clock)
    yield other
    await other.close()


@pytest.fixture
async def ear(other: RedisQueue, client: Redis) -> AsyncIterator[Ear]:
    before = await listeners(client)
    ear = Ear(other)

    async def is_listening() -> bool:
        return await listeners(client) > before

    await eventually(is_listening)
    yield ear
    await ear.stop()


async def test_a_push_wakes_once_per_batch(queue: RedisQueue, ear: Ear) -> None:
    await queue.push([hint(), hint(), hint(lane(queue="mail"))])

    await ear.ring()

    assert ear.heard == [("default", 2), ("mail", 1)]


async def test_a_process_does_not_hear_itself(queue: RedisQueue, other: RedisQueue, ear: Ear) -> None:
    await other.push([hint(lane(queue="mine"))])
    await queue.push([hint()])

    await ear.ring()

    assert ear.heard == [("default", 1)]


async def test_tasks_that_are_due_later_wake_nobody(queue: RedisQueue, ear: Ear) -> None:
    await queue.push([hint(late=-60)])
    await queue.push([hint(late=-1)])

    await ear.ring()

    assert ear.heard == [("default", 1)]


@pytest.mark.faults
async def test_a_listener_that_was_cut_off_listens_again(queue: RedisQueue, ear: Ear, client: Redis) -> None:
    await client.client_kill_filter(_type="pubsub")

    async def is_heard() -> bool:
        await queue.push([hint()])
        return bool(ear.heard)

    await eventually(is_heard)


def test_a_wake_up_reads_as_it_was_written() -> None:
    counts = Counter({"a=b": 3, "mail": 1})

    assert parse(message_of("me", counts)) == ("me", dict(counts))
    assert message_of("me", Counter()) == ""


async def test_a_signal_reaches_other_processes(queue: RedisQueue, other: RedisQueue, client: Redis) -> None:
    ear = Ear(other)

    async def is_listening() -> bool:
        return await listeners(client) == 1

    await eventually(is_listening)

    await queue.signal("!stop")

    await ear.ring()
    assert ear.heard == [("!stop", 1)]
    assert other.carries_signals
    await ear.stop()
