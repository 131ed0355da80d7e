"""Redis holds what is near and not more, and says when the store has better."""

from redis.asyncio import Redis

from drumline.core.clock import Instant, ManualClock
from drumline.ports.store import Hint
from drumline.redis import RedisQueue
from drumline.redis.keys import QueueKeys, lane_text
from drumline.redis.queue import HORIZON_MS
from tests.redis.hints import NOW, hint, lane, pop, popped_tasks, pushed

MOST = 10
"""What the queue of these tests holds of a lane."""


async def held(client: Redis, name: str = "work") -> int:
    return int(await client.zcard(QueueKeys().lanes + lane_text(lane(name))))


def age(*seconds: float) -> list[Hint]:
    return [hint(late=late) for late in seconds]


async def test_tasks_of_the_far_future_cost_redis_nothing(queue: RedisQueue, client: Redis) -> None:
    before = await client.dbsize()

    await queue.push([hint(late=-HORIZON_MS / 1000 - 1) for _ in range(1000)])

    assert await client.dbsize() == before


async def test_a_lane_holds_the_earliest_and_no_more_than_it_may(queue: RedisQueue, client: Redis) -> None:
    hints = age(*range(30, 0, -1))
    await queue.push(hints[::-1])

    assert await held(client) == MOST
    assert await popped_tasks(queue, limit=MOST) == [each.task for each in hints[:MOST]]


async def test_a_crowded_lane_that_ran_dry_asks_for_the_store(queue: RedisQueue) -> None:
    await queue.push(age(*range(30, 0, -1)))
    full = await pop(queue, limit=MOST)

    dry = await pop(queue)

    assert (len(full.tasks), full.asks_store) == (MOST, False)
    assert (dry.tasks, dry.asks_store) == ((), True)


async def test_newcomers_do_not_overtake_what_was_left_out(queue: RedisQueue, client: Redis) -> None:
    await queue.push(age(*range(30, 0, -1)))
    await pop(queue, limit=5)

    await queue.push(age(0, 0, 0))
    (early,) = await pushed(queue, hint(late=100))

    assert await held(client) == 6
    assert (await popped_tasks(queue, limit=1)) == [early]


async def test_what_was_left_out_has_its_place_among_other_lanes(queue: RedisQueue) -> None:
    await queue.push(age(*range(30, 0, -1)))
    (older,) = await pushed(queue, hint(lane("other"), late=100))
    (newer,) = await pushed(queue, hint(lane("other"), late=1))

    first = await pop(queue, "work", "other", limit=100)
    then = await pop(queue, "work", "other", limit=100)

    assert first.tasks[0] == older
    assert newer not in first.tasks
    assert (then.tasks, then.asks_store) == ((), True)


async def test_a_crowded_lane_does_not_bother_those_who_cannot_run_it(queue: RedisQueue) -> None:
    await queue.push(age(*range(30, 0, -1)))
    await pop(queue, limit=MOST)
    (mine,) = await pushed(queue, hint(lane("other")))

    popped = await pop(queue, "other")

    assert (popped.tasks, popped.asks_store) == ((mine,), False)


async def test_a_lane_crowded_in_the_future_does_not_ask_before_its_time(queue: RedisQueue, clock: ManualClock) -> None:
    await queue.push([hint(late=-10 - number) for number in range(30)])
    clock.advance(19)
    await pop(queue, limit=MOST)
    bounds = {lane(): Instant(NOW + 40_000)}
    await queue.restore([], bounds=bounds)

    early = await pop(queue)
    clock.advance(21)
    in_time = await pop(queue)

    assert (early.asks_store, early.next_due) == (False, NOW + 40_000)
    assert in_time.asks_store


async def test_an_immediate_task_is_offered_though_the_future_is_crowded(queue: RedisQueue) -> None:
    await queue.push([hint(late=-100 - number) for number in range(30)])

    (task,) = await pushed(queue, hint())

    assert await popped_tasks(queue) == [task]


async def test_a_lane_is_uncrowded_in_two_steps(queue: RedisQueue, client: Redis) -> None:
    await queue.push(age(*range(30, 0, -1)))
    await pop(queue, limit=MOST)

    await queue.restore([], bounds={lane(): None})
    (task,) = await pushed(queue, hint())
    between = await pop(queue, limit=1)
    in_doubt = await pop(queue)
    await queue.restore([], bounds={lane(): None})
    after = await pop(queue)

    assert between.tasks == (task,)  # the cut was lifted: nothing is left out any more
    assert in_doubt.asks_store  # but something may have been, before that
    assert (after.tasks, after.asks_store) == ((), False)
    assert await client.zcard(QueueKeys().more) == 0


async def test_restoring_more_than_a_lane_may_hold_keeps_it_crowded(queue: RedisQueue, client: Redis) -> None:
    await queue.restore(age(*range(30, 0, -1)), bounds={lane(): None})

    assert await held(client) == MOST
    queue_state = await queue.sync(now=NOW)
    assert queue_state is not None
    assert queue_state.crowded == (lane(),)
