"""Flow limits: never more at once, never more often, and nobody blocked behind them."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.core.flow import FlowLimit, LimitRequest, accept_limit
from drumline.core.ids import SessionId
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask
from drumline.ports.store import Change, Claim, Store
from tests.factories import beat, claim, claim_request, open_session, settle, state_of, submit


async def set_limit(store: Store, name: str = "few", *, tenant: str = "default", **fields: Any) -> FlowLimit:
    limit, _ = await store.limits.set_limit(accept_limit(name, LimitRequest(**fields), tenant=tenant))
    return limit


async def claim_limited(store: Store, session: SessionId, *names: str, limit: int = 10, **options: Any) -> Claim:
    (answer,) = await store.claim([claim_request(session, *names, limit=limit, limited=True, **options)])
    return answer


async def many(store: Store, count: int, name: str = "work", **fields: Any) -> None:
    for _ in range(count):
        await submit(store, name, **fields)


async def complete(store: Store, *tasks: ClaimedTask) -> None:
    for task in tasks:
        await settle(store, task.lease, Act.COMPLETE)


async def test_no_more_run_at_once_than_the_limit_allows(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=3)
    await many(store, 8)
    ada, bob = await open_session(store), await open_session(store)

    first = await claim_limited(store, ada, limit=2)
    second = await claim_limited(store, bob)

    assert (len(first.tasks), len(second.tasks)) == (2, 1)
    assert (await claim_limited(store, ada)).tasks == ()


async def test_plain_claims_pass_over_what_is_limited(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=3)
    await many(store, 5)
    free = await submit(store, "other")
    ada = await open_session(store, "work", "other")

    assert [task.lease.task for task in await claim(store, ada, "work", "other")] == [free]


async def test_hints_do_not_get_around_a_limit(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1)
    tasks = (await submit(store), await submit(store))
    ada = await open_session(store)

    assert await claim(store, ada, hints=tasks) == []


@pytest.mark.parametrize("act", [Act.COMPLETE, Act.FAIL, Act.BACK_OFF, Act.SNOOZE, Act.RELEASE, Act.STOP])
async def test_whatever_ends_a_lease_frees_its_slot(store: Store, act: Act) -> None:
    await set_limit(store, task="work", max_concurrent=1)
    await many(store, 3)
    ada = await open_session(store)
    (held,) = (await claim_limited(store, ada)).tasks

    await settle(store, held.lease, act, delay_ms=60_000 if act in {Act.BACK_OFF, Act.SNOOZE} else 0)

    assert len((await claim_limited(store, ada)).tasks) == 1


async def test_a_force_cancelled_task_frees_its_slot(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1)
    await many(store, 2)
    ada = await open_session(store)
    (held,) = (await claim_limited(store, ada)).tasks

    await store.control.cancel([held.lease.task], force=True)

    assert len((await claim_limited(store, ada)).tasks) == 1


async def test_a_dead_workers_slots_are_free_when_it_is_reaped(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=2)
    await many(store, 4)
    ada, bob = await open_session(store), await open_session(store)
    await claim_limited(store, ada)
    assert (await claim_limited(store, bob)).tasks == ()

    await store.sessions.reap([(ada, 0)], poison_after=9)

    assert len((await claim_limited(store, bob)).tasks) == 2


async def test_a_late_worker_neither_frees_nor_takes_a_slot(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1)
    await many(store, 1)
    ada, bob = await open_session(store), await open_session(store)
    (late,) = (await claim_limited(store, ada)).tasks
    await store.sessions.reap([(ada, 0)], poison_after=9)
    (held,) = (await claim_limited(store, bob)).tasks
    assert held.lease.task == late.lease.task

    await many(store, 1)
    with pytest.raises(Conflict):
        await settle(store, late.lease, Act.COMPLETE)

    assert (await claim_limited(store, bob)).tasks == ()


async def test_a_repeated_claim_returns_the_same_tasks_and_takes_no_more_slots(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=3)
    await many(store, 9)
    ada = await open_session(store)
    first = await claim_limited(store, ada, limit=2, nonce=77)

    again = await claim_limited(store, ada, limit=2, nonce=77, again=True)

    assert {task.lease for task in again.tasks} == {task.lease for task in first.tasks}
    assert len((await claim_limited(store, ada)).tasks) == 1


async def test_no_more_start_in_any_stretch_of_the_period_than_the_rate(store: Store, clock: ManualClock) -> None:
    await set_limit(store, task="work", rate="3/10s")
    await many(store, 20)
    ada = await open_session(store)
    starts: list[int] = []

    for _ in range(60):
        answer = await claim_limited(store, ada)
        starts += [clock.now()] * len(answer.tasks)
        await complete(store, *answer.tasks)
        clock.advance(0.7)

    assert all(sum(begin <= at < begin + 10_000 for at in starts) <= 3 for begin in starts)
    assert len(starts) >= 12


async def test_a_claim_tells_when_the_rate_lets_the_next_start(store: Store, clock: ManualClock) -> None:
    await set_limit(store, task="work", rate="2/10s")
    await many(store, 5)
    ada = await open_session(store)
    began = clock.now()
    await claim_limited(store, ada)
    clock.advance(4)

    assert (await claim_limited(store, ada)).next_due == began + 10_000


async def test_a_claim_tells_when_a_limited_task_will_be_due(store: Store, clock: ManualClock) -> None:
    await set_limit(store, task="work", max_concurrent=2)
    await submit(store, delay=30)
    ada = await open_session(store)

    assert (await claim_limited(store, ada)).next_due == clock.now() + 30_000


async def test_a_limit_of_a_queue_counts_all_its_names(store: Store) -> None:
    await set_limit(store, queue="slow", max_concurrent=2)
    await many(store, 3, "work", queue="slow")
    await many(store, 3, "other", queue="slow")
    await many(store, 1, "work")
    ada = await open_session(store, "work", "other")

    limited = await claim_limited(store, ada, "work", "other")

    assert len(limited.tasks) == 2
    assert [task.queue for task in await claim(store, ada, "work", "other")] == ["default"]


async def test_all_limits_of_a_task_hold_together(store: Store) -> None:
    await set_limit(store, "queue", queue="slow", max_concurrent=3)
    await set_limit(store, "name", task="work", max_concurrent=2)
    await many(store, 5, "work", queue="slow")
    await many(store, 5, "other", queue="slow")
    ada = await open_session(store, "work", "other")

    limited = await claim_limited(store, ada, "work", "other")

    assert Counter(task.name for task in limited.tasks) == {"work": 2, "other": 1}


async def test_what_stands_at_its_limit_blocks_nobody(store: Store) -> None:
    await set_limit(store, "one", task="work", max_concurrent=1)
    await set_limit(store, "two", task="other", max_concurrent=5)
    await many(store, 30, "work")
    await many(store, 3, "other")
    ada = await open_session(store, "work", "other")

    limited = await claim_limited(store, ada, "work", "other")

    assert Counter(task.name for task in limited.tasks) == {"work": 1, "other": 3}


async def test_a_limit_with_a_key_holds_for_each_key(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=2, key="payload.customer.id")
    await many(store, 20, payload={"customer": {"id": "acme"}})
    await many(store, 1, payload={"customer": {"id": 7}})
    await many(store, 3, payload={"customer": {"id": "bolt"}})
    ada = await open_session(store)

    limited = await claim_limited(store, ada, limit=20)

    keys = Counter(bytes(task.payload) for task in limited.tasks)
    assert sorted(keys.values()) == [1, 2, 2]
    assert (await claim_limited(store, ada, limit=20)).tasks == ()


async def test_a_tasks_own_key_counts_before_the_payloads(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1, key="payload.customer")
    await many(store, 2, payload={"customer": "acme"}, limit_key="bolt")
    await many(store, 1, payload={"customer": "acme"})
    ada = await open_session(store)

    assert len((await claim_limited(store, ada)).tasks) == 2


async def test_tasks_without_a_key_count_together(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1, key="limit_key")
    await many(store, 3)
    await many(store, 3, limit_key="acme")
    ada = await open_session(store)

    assert len((await claim_limited(store, ada)).tasks) == 2


async def test_a_task_that_backs_off_keeps_its_key(store: Store, clock: ManualClock) -> None:
    await set_limit(store, task="work", max_concurrent=1, key="limit_key")
    await many(store, 2, limit_key="acme")
    ada = await open_session(store)
    (held,) = (await claim_limited(store, ada)).tasks
    await settle(store, held.lease, Act.BACK_OFF, delay_ms=1000)
    clock.advance(2)

    assert len((await claim_limited(store, ada)).tasks) == 1
    assert (await claim_limited(store, ada)).tasks == ()


async def test_what_waits_and_runs_already_is_under_a_new_limit(store: Store) -> None:
    await many(store, 6)
    ada = await open_session(store)
    running = await claim(store, ada, limit=2)

    await set_limit(store, task="work", max_concurrent=3)

    assert len((await claim_limited(store, ada)).tasks) == 1
    assert await claim(store, ada) == []
    await complete(store, *running)
    assert len((await claim_limited(store, ada)).tasks) == 2


async def test_what_runs_already_counts_under_its_key(store: Store) -> None:
    await many(store, 3, limit_key="acme")
    await many(store, 3, limit_key="bolt")
    ada = await open_session(store)
    await claim(store, ada, limit=2)

    await set_limit(store, task="work", max_concurrent=2, key="limit_key")

    limited = await claim_limited(store, ada)
    assert len(limited.tasks) == 2


async def test_a_limit_that_is_set_again_counts_what_it_counted(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=2)
    await many(store, 9)
    ada = await open_session(store)
    await claim_limited(store, ada)

    await set_limit(store, task="work", max_concurrent=5)

    assert len((await claim_limited(store, ada)).tasks) == 3


async def test_after_a_limit_has_gone_its_tasks_are_claimed_as_others(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1, key="limit_key")
    await many(store, 5, limit_key="acme")
    ada = await open_session(store)
    await claim_limited(store, ada, limit=1)

    await store.limits.delete_limit("few", tenant="default")
    moved, hints = await store.limits.sort_keys(most=100)

    assert (moved, len(hints)) == (4, 4)
    assert len(await claim(store, ada)) == 4
    assert await store.limits.limits() == []


async def test_of_many_keys_all_have_their_turn(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1, key="limit_key")
    for number in range(30):
        await many(store, 2, limit_key=f"c{number}")
    ada = await open_session(store)

    found = 0
    for _ in range(12):
        tasks = (await claim_limited(store, ada, limit=7)).tasks
        found += len(tasks)
        await complete(store, *tasks)

    assert found == 60


async def test_keys_are_sorted_ahead_of_time(store: Store, clock: ManualClock) -> None:
    await set_limit(store, task="work", max_concurrent=1, key="limit_key")
    await many(store, 3, limit_key="acme", delay=5)

    assert (await store.limits.sort_keys(most=100))[0] == 3
    assert (await store.limits.sort_keys(most=100))[0] == 0

    clock.advance(6)
    ada = await open_session(store)
    assert len((await claim_limited(store, ada)).tasks) == 1


async def test_a_task_under_a_limit_can_be_cancelled_and_rescheduled(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1, key="limit_key")
    first, second = await submit(store, limit_key="a"), await submit(store, limit_key="a")
    await store.limits.sort_keys(most=100)

    await store.control.cancel([first])
    await store.control.reschedule([Change(task=second, priority=7)])

    assert await state_of(store, first) is State.CANCELLED
    ada = await open_session(store)
    assert [task.lease.task for task in (await claim_limited(store, ada)).tasks] == [second]


async def test_nobody_is_hinted_at_tasks_under_limits(store: Store, clock: ManualClock) -> None:
    await set_limit(store, task="work", max_concurrent=1)
    await many(store, 3)
    free = await submit(store, "other")
    clock.advance(1)

    assert [hint.task for hint in await store.upcoming(due_before=clock.now(), per_lane=10)] == [free]


async def test_it_is_known_which_limits_a_task_waits_for(store: Store) -> None:
    await set_limit(store, "customers", task="work", max_concurrent=1, key="limit_key")
    await set_limit(store, "all", queue="default", rate="5/60s")
    await many(store, 2, limit_key="acme")
    ada = await open_session(store)
    await claim_limited(store, ada)
    waiting = await submit(store, limit_key="acme")

    uses = {use.limit.name: use for use in await store.limits.limit_uses(waiting)}

    assert (uses["customers"].key, uses["customers"].use.running) == ("acme", 1)
    assert (uses["all"].key, uses["all"].use.started) == (None, 1)


async def test_what_runs_under_a_limit_is_counted(store: Store) -> None:
    limit = await set_limit(store, task="work", max_concurrent=5, key="limit_key")
    await many(store, 2, limit_key="acme")
    await many(store, 1, limit_key="bolt")
    ada = await open_session(store)
    tasks = (await claim_limited(store, ada)).tasks

    assert await store.limits.running_under([limit.id]) == {limit.id: 3}

    await complete(store, *tasks)
    assert await store.limits.running_under([limit.id]) == {}


async def test_a_tenants_limit_is_not_anothers(store: Store) -> None:
    await set_limit(store, task="work", max_concurrent=1, tenant="acme")
    await many(store, 3, tenant="acme")
    await many(store, 3, tenant="bolt")
    ada = await open_session(store)

    assert {task.tenant for task in await claim(store, ada)} == {"bolt"}
    assert len((await claim_limited(store, ada)).tasks) == 1
    assert [limit.name for limit in await store.limits.limits(tenant="bolt")] == []


async def test_two_limits_cannot_find_the_key_of_a_task_in_two_places(store: Store) -> None:
    await set_limit(store, "one", task="work", max_concurrent=1, key="limit_key")

    with pytest.raises(Conflict):
        await set_limit(store, "two", queue="default", rate="1/s", key="payload.customer")
    await set_limit(store, "three", task="other", rate="1/s", key="payload.customer")


async def test_a_limit_that_is_not_there_cannot_be_deleted(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.limits.delete_limit("few", tenant="default")


async def test_many_claimers_at_once_never_exceed_a_limit(store: Store) -> None:
    limit = await set_limit(store, task="work", max_concurrent=3)
    await many(store, 40)
    done: list[ClaimedTask] = []

    async def work() -> None:
        session = await open_session(store)
        while len(done) < 40:
            tasks = (await claim_limited(store, session, limit=2)).tasks
            assert (await store.limits.running_under([limit.id])).get(limit.id, 0) <= 3
            await store.sessions.beat([beat(session, *[task.lease for task in tasks])])
            await complete(store, *tasks)
            done.extend(tasks)

    await asyncio.gather(*[work() for _ in range(8)])

    assert len({task.lease.task for task in done}) == 40
