"""Hints of several tenants: each pop is shared out, however many lanes and tenants there are."""

from collections import Counter
from itertools import pairwise

from drumline.core.fair_shares import STEP, Share
from drumline.redis import RedisQueue
from tests.redis.hints import hint, lane, pop, pushed


async def crowd(queue: RedisQueue, *, acme: int = 200, bolt: int = 5) -> dict[str, str]:
    whose: dict[str, str] = {}
    for tenant, count, late in (("acme", acme, 100.0), ("bolt", bolt, 1.0)):
        for number in range(count):
            where = lane(tenant=tenant, priority=number % 3)
            (task,) = await pushed(queue, hint(where, late=late))
            whose[task] = tenant
    return whose


async def test_a_pop_is_shared_between_tenants(queue: RedisQueue) -> None:
    whose = await crowd(queue)

    popped = await pop(queue, limit=8)

    assert Counter(whose[task] for task in popped.tasks) == {"acme": 4, "bolt": 4}


async def test_what_a_tenant_has_in_flight_counts(queue: RedisQueue) -> None:
    whose = await crowd(queue)

    popped = await pop(queue, limit=4, shares=[Share("acme", 20 * STEP)])

    assert [whose[task] for task in popped.tasks] == ["bolt"] * 4


async def test_tenants_that_stand_alike_take_turns_over_all_pops(queue: RedisQueue) -> None:
    whose = await crowd(queue)

    turns = [whose[(await pop(queue, limit=1)).tasks[0]] for _ in range(6)]

    assert Counter(turns) == {"acme": 3, "bolt": 3}
    assert all(first != second for first, second in pairwise(turns))


async def test_what_one_tenant_cannot_use_goes_to_the_others(queue: RedisQueue) -> None:
    whose = await crowd(queue, acme=24)

    popped = await pop(queue, limit=25, shares=[Share("acme", 100 * STEP)])

    assert Counter(whose[task] for task in popped.tasks) == {"acme": 20, "bolt": 5}


async def test_of_hundreds_of_tenants_nobody_is_left_out(queue: RedisQueue) -> None:
    tenants = [f"t{number:03}" for number in range(150)]
    for tenant in tenants:
        await pushed(queue, *[hint(lane(tenant=tenant), late=9) for _ in range(5)])
        # Of these nothing is for this session: they must not keep the others from being looked at.
        await pushed(queue, hint(lane("other", tenant=f"{tenant}x"), late=99))

    found = 0
    for _ in range(40):
        found += len((await pop(queue, "work", limit=50)).tasks)

    assert found == 5 * len(tenants)


async def test_a_session_of_one_tenant_finds_its_hints_among_hundreds_of_tenants(queue: RedisQueue) -> None:
    for number in range(100):
        await pushed(queue, hint(lane(tenant=f"t{number:03}"), late=9))
    (mine,) = await pushed(queue, hint(lane(tenant="zulu")))

    assert (await pop(queue, "work", tenant="zulu")).tasks == (mine,)
