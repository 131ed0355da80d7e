"""The best due hints that a session can run come first, and each to one taker only."""

import asyncio

from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.core.ids import SessionId
from drumline.core.task import Lane
from drumline.redis import RedisQueue
from tests.factories import claim_request
from tests.redis.hints import hint, lane, pop, popped_tasks, pushed

MANY = tuple(f"name {number}" for number in range(5_000))


async def test_hints_of_a_lane_come_in_the_order_of_their_time(queue: RedisQueue) -> None:
    second, third, first = await pushed(queue, hint(late=2), hint(late=1), hint(late=3))

    assert await popped_tasks(queue) == [first, second, third]


async def test_hints_due_at_the_same_time_come_in_the_order_of_their_ids(queue: RedisQueue) -> None:
    hints = [hint(late=1) for _ in range(5)]
    await queue.push(hints[::-1])

    assert await popped_tasks(queue) == [each.task for each in hints]


async def test_a_point_of_priority_is_worth_a_minute(queue: RedisQueue) -> None:
    normal, high, old = await pushed(queue, hint(late=1), hint(lane(priority=1)), hint(late=90))

    assert await popped_tasks(queue) == [old, high, normal]


async def test_lanes_are_merged_by_score(queue: RedisQueue) -> None:
    one, two, three = lane("one"), lane("two", priority=1), lane("three", priority=-1)
    hints = [hint(one, late=10), hint(two, late=5), hint(three, late=100), hint(one, late=70), hint(two, late=-0)]
    await queue.push(hints)

    tasks = await popped_tasks(queue, "one", "two", "three")

    best_first = sorted(hints, key=lambda each: each.due_at - each.lane.priority * 60_000)
    assert tasks == [each.task for each in best_first]


async def test_a_run_ends_where_another_lane_is_better(queue: RedisQueue) -> None:
    a, b = lane("a"), lane("b")
    order = [hint(a, late=9), hint(a, late=8), hint(b, late=7), hint(a, late=6), hint(b, late=5), hint(b, late=4)]
    await queue.push(order)

    first = await popped_tasks(queue, "a", "b", limit=4)
    rest = await popped_tasks(queue, "a", "b")

    assert first + rest == [each.task for each in order]


async def test_many_lanes_are_walked_page_by_page(queue: RedisQueue) -> None:
    hints = [hint(lane(f"name {number}"), late=1000 - number) for number in range(300)]
    await queue.push(hints)

    tasks = await popped_tasks(queue, *MANY[:300], limit=250)

    assert tasks == [each.task for each in hints[:250]]


async def test_a_pop_takes_no_more_than_is_asked_for(queue: RedisQueue) -> None:
    tasks = await pushed(queue, *[hint(late=9 - number) for number in range(9)])

    assert await popped_tasks(queue, limit=4) == tasks[:4]
    assert await popped_tasks(queue, limit=4) == tasks[4:8]


async def test_a_hint_is_given_to_one_taker_only(queue: RedisQueue) -> None:
    tasks = await pushed(queue, *[hint() for _ in range(10)])

    pops = await asyncio.gather(*[pop(queue, limit=3) for _ in range(10)])

    taken = [task for each in pops for task in each.tasks]
    assert sorted(taken) == sorted(tasks)


async def test_lanes_that_a_session_cannot_run_are_passed_over(queue: RedisQueue) -> None:
    _, _, _, mine = await pushed(
        queue,
        hint(lane("other"), late=9),
        hint(lane(queue="elsewhere"), late=8),
        hint(lane(tenant="acme"), late=7),
        hint(late=1),
    )

    popped = await pop(queue, "work", queues=("default", "mail"), tenant="default")

    assert popped.tasks == (mine,)


async def test_a_session_for_all_queues_and_tenants_gets_all(queue: RedisQueue) -> None:
    tasks = await pushed(queue, hint(lane(queue="elsewhere"), late=8), hint(lane(tenant="acme"), late=7))

    assert set(await popped_tasks(queue)) == set(tasks)


async def test_a_lane_that_came_after_the_session_is_judged_anew(queue: RedisQueue) -> None:
    await pop(queue, "work", "late comer")
    (task,) = await pushed(queue, hint(lane("late comer")))

    assert await popped_tasks(queue, "work", "late comer") == [task]


async def test_names_and_tenants_may_have_spaces_and_signs(queue: RedisQueue) -> None:
    odd = Lane("a b%20c", "mail", "Zoë says: n'importe quoi 100 %", 7)
    (task,) = await pushed(queue, hint(odd))

    popped = await pop(queue, odd.name, queues=("mail",), tenant="a b%20c")

    assert popped.tasks == (task,)


async def test_a_worker_may_have_thousands_of_names(queue: RedisQueue) -> None:
    (task,) = await pushed(queue, hint(lane("name 4999")))

    assert await popped_tasks(queue, *MANY) == [task]


async def test_an_ability_that_redis_forgot_is_told_again(queue: RedisQueue, client: Redis) -> None:
    await pop(queue)
    await pushed(queue, hint())
    for key in await client.keys("*ability*"):
        await client.delete(key)
    (late,) = await pushed(queue, hint(lane(priority=3)))

    assert late in await popped_tasks(queue)


async def test_hints_of_the_future_wait_for_their_time(queue: RedisQueue, clock: ManualClock) -> None:
    (task,) = await pushed(queue, hint(late=-5))

    early = await pop(queue)
    clock.advance(5)
    in_time = await pop(queue)

    assert (early.tasks, early.next_due) == ((), clock.now())
    assert in_time.tasks == (task,)


async def test_the_next_due_time_is_of_a_lane_that_the_session_can_run(queue: RedisQueue, clock: ManualClock) -> None:
    await pushed(queue, hint(lane("other"), late=-1), hint(late=-3))

    popped = await pop(queue)

    assert popped.next_due == clock.now() + 3000


async def test_a_waiting_head_does_not_hide_what_is_due_in_other_lanes(queue: RedisQueue, clock: ManualClock) -> None:
    future, due = await pushed(queue, hint(lane(priority=100), late=-1), hint())

    now = await popped_tasks(queue)
    clock.advance(1)

    assert now == [due]
    assert await popped_tasks(queue) == [future]


async def test_a_hint_pushed_again_moves_to_its_new_time(queue: RedisQueue) -> None:
    first = hint(late=10)
    second = hint(late=5)
    await queue.push([first, second])
    await queue.push([type(first)(first.task, first.lane, hint(late=1).due_at)])

    assert await popped_tasks(queue) == [second.task, first.task]


async def test_a_dropped_hint_is_forgotten_whatever_its_lane(queue: RedisQueue) -> None:
    gone, kept, later = await pushed(queue, hint(lane(priority=5)), hint(), hint(late=-5))

    await queue.drop([gone, later])

    popped = await pop(queue)
    assert popped.tasks == (kept,)
    assert (await pop(queue)).next_due is None


async def test_paused_queues_are_passed_over_until_resumed(queue: RedisQueue) -> None:
    held, free = await pushed(queue, hint(lane(queue="mail"), late=9), hint())

    await queue.pause_queue("mail", tenant="default")
    paused = await popped_tasks(queue)
    await queue.resume_queue("mail", tenant="default")

    assert paused == [free]
    assert await popped_tasks(queue) == [held]


async def test_a_pause_is_one_tenants_own(queue: RedisQueue) -> None:
    (theirs,) = await pushed(queue, hint(lane(queue="mail", tenant="acme")))

    await queue.pause_queue("mail", tenant="default")

    assert await popped_tasks(queue) == [theirs]


async def test_nothing_is_popped_from_a_queue_that_was_never_filled(redis_url: str, clock: ManualClock) -> None:
    queue = RedisQueue(redis_url, clock=clock)
    await queue.push([hint()])

    assert await queue.pop(claim_request(SessionId(1))) is None

    await queue.close()


async def test_without_a_given_time_the_server_tells_it(redis_url: str) -> None:
    queue = RedisQueue(redis_url)
    await queue.filled()
    (task,) = await pushed(queue, hint())

    assert await popped_tasks(queue) == [task]

    await queue.close()
