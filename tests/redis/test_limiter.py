"""How often a key may ask, counted by several servers in one Redis."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.core.rate import Rate
from drumline.ports.limiter import Taken
from drumline.redis import RedisLimiter

RATE = Rate(100, 60.0)


async def turn(limiter: RedisLimiter, rate: Rate = RATE, key: str = "ada") -> Taken:
    return limiter.take_now(key, rate) or await limiter.take(key, rate)


@pytest.fixture
async def limiters(redis_url: str) -> AsyncIterator[list[RedisLimiter]]:
    made = [RedisLimiter(redis_url, prefix="test:") for _ in range(2)]
    yield made
    for limiter in made:
        await limiter.close()


async def test_two_servers_give_a_hundred_turns_between_them(limiters: list[RedisLimiter]) -> None:
    taken = [await turn(limiters[number % 2]) for number in range(100)]
    refused = [await turn(limiter) for limiter in limiters]

    assert all(each.is_allowed for each in taken)
    assert [each.remaining for each in taken] == list(range(99, -1, -1))
    assert [each.is_allowed for each in refused] == [False, False]
    assert all(50 < each.seconds <= 60 for each in refused)


async def test_all_at_once_get_a_hundred_turns_and_no_more(limiters: list[RedisLimiter]) -> None:
    taken = await asyncio.gather(*(turn(limiters[number % 2]) for number in range(300)))

    assert sum(each.is_allowed for each in taken) == 100


async def test_a_turn_comes_back_when_its_window_is_over(limiters: list[RedisLimiter]) -> None:
    short = Rate(3, 1.0)
    for _ in range(3):
        assert (await turn(limiters[0], short)).is_allowed
    refused = await turn(limiters[1], short)

    await asyncio.sleep(refused.seconds + 0.01)

    assert not refused.is_allowed
    assert (await turn(limiters[1], short)).is_allowed


async def test_a_large_rate_costs_redis_one_call_for_many_turns(limiters: list[RedisLimiter], redis_url: str) -> None:
    large = Rate(60_000, 60.0)
    client = Redis.from_url(redis_url, decode_responses=True)
    before = (await client.info("commandstats")).get("cmdstat_evalsha", {"calls": 0})["calls"]

    taken = [await turn(limiters[number % 2], large, "fleet") for number in range(6000)]

    calls = (await client.info("commandstats"))["cmdstat_evalsha"]["calls"] - before
    await client.aclose()
    assert all(each.is_allowed for each in taken)
    assert calls <= 110
    assert sum([(await turn(limiters[0], large, "fleet")).is_allowed for _ in range(60_000)]) <= 54_000


async def test_whoever_goes_on_knocking_costs_redis_nothing(limiters: list[RedisLimiter], redis_url: str) -> None:
    small = Rate(1, 60.0)
    await turn(limiters[0], small)
    await turn(limiters[0], small)
    client = Redis.from_url(redis_url, decode_responses=True)
    before = (await client.info("commandstats"))["cmdstat_evalsha"]["calls"]

    answers = [limiters[0].take_now("ada", small) for _ in range(100)]

    assert all(answer is not None and not answer.is_allowed for answer in answers)
    assert (await client.info("commandstats"))["cmdstat_evalsha"]["calls"] == before
    await client.aclose()


async def test_keys_are_written_under_the_prefix_with_a_tag_of_their_own_and_expire(
    limiters: list[RedisLimiter], redis_url: str
) -> None:
    await turn(limiters[0])
    client = Redis.from_url(redis_url, decode_responses=True)

    (key,) = await client.keys("*")

    assert key == "test:rate:{ada}"
    assert 0 < await client.pttl(key) <= 60_000
    await client.aclose()


async def test_without_redis_each_process_limits_by_itself() -> None:
    clock = ManualClock()
    limiter = RedisLimiter("redis://127.0.0.1:1/0", clock=clock)

    taken = [await turn(limiter) for _ in range(101)]
    clock.advance(60.1)
    later = await turn(limiter)

    assert [each.is_allowed for each in taken] == [True] * 100 + [False]
    assert later.is_allowed
    await limiter.close()
