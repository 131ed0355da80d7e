"""Fair shares between tenants: whoever has queued much delays nobody who has queued little."""

from collections import Counter
from collections.abc import Sequence

from drumline.core.clock import ManualClock
from drumline.core.fair_shares import STEP, Share, step_of
from drumline.ports.store import Store
from tests.factories import claim, open_session, submit


async def crowd(store: Store, clock: ManualClock, *, acme: int = 60, bolt: int = 5) -> None:
    """Queue much of one tenant, and after it a little of another."""
    for _ in range(acme):
        await submit(store, tenant="acme")
    clock.advance(60)
    for _ in range(bolt):
        await submit(store, tenant="bolt")


async def given(store: Store, limit: int, shares: Sequence[Share] = ()) -> Counter[str]:
    ada = await open_session(store)
    return Counter(task.tenant for task in await claim(store, ada, limit=limit, shares=shares))


async def test_a_claim_is_shared_between_tenants(store: Store, clock: ManualClock) -> None:
    await crowd(store, clock)

    assert await given(store, 8) == {"acme": 4, "bolt": 4}


async def test_what_a_tenant_has_in_flight_counts(store: Store, clock: ManualClock) -> None:
    await crowd(store, clock)

    assert await given(store, 6, [Share("acme", 3 * STEP), Share("bolt", 1 * STEP)]) == {"acme": 2, "bolt": 4}


async def test_of_two_that_stand_alike_the_one_served_longest_ago_is_next(store: Store, clock: ManualClock) -> None:
    await crowd(store, clock)

    assert await given(store, 1, [Share("acme", 2), Share("bolt", 1)]) == {"bolt": 1}
    assert await given(store, 1, [Share("acme", 1), Share("bolt", 2)]) == {"acme": 1}


async def test_a_weight_is_a_part_of_what_is_given(store: Store, clock: ManualClock) -> None:
    await crowd(store, clock, bolt=60)

    assert await given(store, 40, [Share("bolt", 0, step_of(3))]) == {"acme": 10, "bolt": 30}


async def test_what_one_tenant_cannot_use_goes_to_the_others(store: Store, clock: ManualClock) -> None:
    await crowd(store, clock)

    assert await given(store, 30, [Share("acme", 100 * STEP)]) == {"acme": 25, "bolt": 5}


async def test_a_tenants_own_tasks_come_by_their_score(store: Store, clock: ManualClock) -> None:
    await crowd(store, clock)
    urgent = await submit(store, tenant="acme", priority=50, queue="elsewhere")
    ada = await open_session(store)

    tasks = await claim(store, ada, limit=2)

    assert {task.tenant for task in tasks} == {"acme", "bolt"}
    assert urgent in {task.lease.task for task in tasks}


async def test_a_session_of_one_tenant_is_given_only_that_tenants(store: Store, clock: ManualClock) -> None:
    await crowd(store, clock)
    ada = await open_session(store, tenant="bolt")

    assert {task.tenant for task in await claim(store, ada, limit=20, tenant="bolt")} == {"bolt"}
