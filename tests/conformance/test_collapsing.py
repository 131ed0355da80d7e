"""Submissions that collapse into earlier ones of their key, on every store."""

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.clock import ManualClock
from drumline.core.collapse import Collapse
from drumline.core.durable import RestartRequest
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import NewTask, Submitted, TaskView
from drumline.ports.collapsing import CollapseAnswer
from drumline.ports.store import Settlement, Store
from tests.durable_factories import names_of, park, record, sleep, step
from tests.factories import accepted, claim_one, claim_request, open_session


def task(payload: object = None, *, tenant: str = "default", name: str = "work", **rule: Any) -> NewTask:
    return accepted(name, payload, tenant=tenant, collapse=Collapse(**{"key": "k", **rule}))


async def submit(store: Store, *tasks: NewTask) -> list[Submitted]:
    answers = await store.collapsing.submit(tasks)
    assert all(isinstance(answer, CollapseAnswer) for answer in answers)
    return [answer.submitted for answer in answers if isinstance(answer, CollapseAnswer)]


async def one(store: Store, payload: object = None, **rule: Any) -> Submitted:
    (answer,) = await submit(store, task(payload, **rule))
    return answer


async def view(store: Store, id: TaskId) -> TaskView:
    (found,) = await store.queries.get([id])
    assert found is not None
    return found


async def run(store: Store, *, to_end: bool = True) -> TaskId:
    """Claim the next task, and let it complete."""
    session = await open_session(store)
    (claim,) = await store.claim([claim_request(session, limit=1)])
    (claimed,) = claim.tasks
    if to_end:
        await store.settle([Settlement(lease=claimed.lease, act=Act.COMPLETE)])
    return claimed.lease.task


def said(answer: Submitted) -> tuple[bool, str | None]:
    return answer.created, answer.collapsed


async def test_a_debounced_task_runs_after_the_last_submission_with_its_payload(
    store: Store, clock: ManualClock
) -> None:
    first = await one(store, {"n": 1}, debounce="5s")
    clock.advance(3)
    second = await one(store, {"n": 2}, debounce="5s")

    found = await view(store, first.id)
    assert (said(first), said(second)) == ((True, None), (False, "replaced"))
    assert second.id == first.id
    assert found.due_at == second.due_at == clock.now() + 5_000
    assert found.payload is not None
    assert bytes(found.payload) == b'{"n":2}'
    session = await open_session(store)
    clock.advance(4.9)
    assert (await store.claim([claim_request(session)]))[0].tasks == ()
    clock.advance(0.2)
    assert await run(store) == first.id


async def test_the_first_payload_is_kept_if_that_is_asked_for(store: Store, clock: ManualClock) -> None:
    first = await one(store, {"n": 1}, debounce=5, keep="first")
    clock.advance(3)
    second = await one(store, {"n": 2}, debounce=5, keep="first")

    found = await view(store, first.id)
    assert said(second) == (False, "postponed")
    assert found.payload is not None
    assert (bytes(found.payload), found.due_at) == (b'{"n":1}', clock.now() + 5_000)


async def test_a_debounced_task_is_put_off_no_longer_than_it_says(store: Store, clock: ManualClock) -> None:
    first = await one(store, debounce=5, at_most=12)
    began = clock.now()
    for _ in range(4):
        clock.advance(4)
        assert (await one(store, debounce=5, at_most=12)).id == first.id

    assert (await view(store, first.id)).due_at == began + 12_000


async def test_a_debounced_task_that_has_started_gets_a_successor(store: Store, clock: ManualClock) -> None:
    first = await one(store, debounce=5)
    clock.advance(6)
    await run(store, to_end=False)

    second = await one(store, debounce=5)

    assert said(second) == (True, None)
    assert second.id != first.id
    assert second.due_at == clock.now() + 5_000


async def test_a_task_that_waits_for_its_retry_is_not_given_another_payload(store: Store, clock: ManualClock) -> None:
    first = await one(store, {"n": 1}, debounce=5)
    clock.advance(6)
    session = await open_session(store)
    (claim,) = await store.claim([claim_request(session, limit=1)])
    await store.settle([Settlement(lease=claim.tasks[0].lease, act=Act.BACK_OFF, delay_ms=60_000)])

    second = await one(store, {"n": 2}, debounce=5)

    assert said(second) == (True, None)
    assert (await view(store, first.id)).payload == claim.tasks[0].payload


async def test_throttled_tasks_run_at_once_and_then_as_one_at_the_end(store: Store, clock: ManualClock) -> None:
    began = clock.now()
    first = await one(store, {"n": 1}, throttle="1m")
    await run(store)
    clock.advance(10)
    second = await one(store, {"n": 2}, throttle="1m")
    clock.advance(10)
    third = await one(store, {"n": 3}, throttle="1m")
    clock.advance(41)
    ran = await run(store)
    clock.advance(10)
    fourth = await one(store, throttle="1m")

    assert [said(answer) for answer in (first, second, third, fourth)] == [
        (True, None), (True, None), (False, "replaced"), (True, None),
    ]  # fmt: skip
    assert (first.due_at, second.due_at, fourth.due_at) == (began, began + 60_000, began + 120_000)
    assert ran == second.id == third.id
    found = await view(store, second.id)
    assert found.payload is not None
    assert bytes(found.payload) == b'{"n":3}'


async def test_a_throttled_task_keeps_its_payload_if_that_is_asked_for(store: Store) -> None:
    first = await one(store, {"n": 1}, throttle="1m", keep="first")
    second = await one(store, {"n": 2}, throttle="1m", keep="first")

    found = await view(store, first.id)
    assert (second.id, said(second)) == (first.id, (False, "dropped"))
    assert found.payload is not None
    assert (bytes(found.payload), found.epoch) == (b'{"n":1}', 0)


async def test_after_a_quiet_time_a_throttled_task_runs_at_once(store: Store, clock: ManualClock) -> None:
    await one(store, throttle="1m")
    await run(store)
    clock.advance(61)

    assert (await one(store, throttle="1m")).due_at == clock.now()


async def test_a_singleton_counts_while_it_is_queued(store: Store) -> None:
    first = await one(store, singleton="queued")
    dropped = await one(store, singleton="queued")
    await run(store, to_end=False)
    second = await one(store, singleton="queued")

    assert (dropped.id, said(dropped)) == (first.id, (False, "dropped"))
    assert said(second) == (True, None)


async def test_a_singleton_counts_until_it_has_ended(store: Store) -> None:
    first = await one(store, singleton="running")
    session = await open_session(store)
    (claim,) = await store.claim([claim_request(session, limit=1)])
    dropped = await one(store, singleton="running")
    await store.settle([Settlement(lease=claim.tasks[0].lease, act=Act.COMPLETE)])
    second = await one(store, singleton="running")

    assert (dropped.id, said(dropped)) == (first.id, (False, "dropped"))
    assert said(second) == (True, None)


async def test_a_unique_task_counts_for_its_time_whatever_became_of_it(store: Store, clock: ManualClock) -> None:
    first = await one(store, unique="1d")
    await store.control.cancel([first.id])
    clock.advance(86_399)
    dropped = await one(store, unique="1d")
    clock.advance(2)
    second = await one(store, unique="1d")

    assert (dropped.id, said(dropped)) == (first.id, (False, "dropped"))
    assert said(second) == (True, None)


async def test_keys_belong_to_a_tenant_a_name_and_a_kind_of_rule(store: Store) -> None:
    answers = await submit(
        store,
        task(unique="1d"),
        task(singleton="queued"),
        task(unique="1d", tenant="acme"),
        task(unique="1d", name="other"),
        task(unique="1d", key="j"),
    )

    assert [said(answer) for answer in answers] == [(True, None)] * 5


async def test_without_a_key_the_payload_tells_submissions_apart(store: Store) -> None:
    answers = await submit(store, *(task({"n": n}, unique="1d", key=None) for n in (1, 2, 1)))

    assert [said(answer) for answer in answers] == [(True, None), (True, None), (False, "dropped")]


async def test_one_list_may_have_a_key_many_times(store: Store, clock: ManualClock) -> None:
    answers = await submit(store, *(task({"n": n}, debounce=5) for n in range(4)))

    found = await view(store, answers[0].id)
    assert [said(answer) for answer in answers] == [(True, None), *[(False, "replaced")] * 3]
    assert {answer.id for answer in answers} == {found.id}
    assert found.payload is not None
    assert (bytes(found.payload), found.due_at, found.epoch) == (b'{"n":3}', clock.now() + 5_000, 0)


async def test_the_same_submission_again_gets_its_first_answer(store: Store) -> None:
    again = task(unique="1d")

    first = await submit(store, again)
    second = await submit(store, again)

    assert first == second
    assert said(second[0]) == (True, None)


async def test_a_waiting_task_that_was_changed_is_told_of(store: Store) -> None:
    first = await one(store, debounce=5)
    (answer,) = await store.collapsing.submit([task({"n": 2}, debounce=5)])

    assert isinstance(answer, CollapseAnswer)
    assert answer.hint is None
    assert answer.changed is not None
    assert (answer.changed.task, answer.changed.state, answer.changed.epoch) == (first.id, State.QUEUED, 1)
    assert (await view(store, first.id)).epoch == 1


async def test_many_submitters_of_one_key_at_the_same_instant_make_one_task(store: Store) -> None:
    rules: tuple[dict[str, Any], ...] = (
        {"debounce": 5, "key": "d"}, {"singleton": "queued", "key": "s"}, {"unique": "1d", "key": "u"},
    )  # fmt: skip

    answers = await asyncio.gather(*(submit(store, *(task({"n": n}, **rule) for rule in rules)) for n in range(30)))

    for place in range(len(rules)):
        assert len({answer[place].id for answer in answers}) == 1
        assert sum(answer[place].created for answer in answers) == 1


async def test_keys_are_forgotten_when_their_time_is_over_and_their_task_has_ended(
    store: Store, clock: ManualClock
) -> None:
    await submit(store, task(debounce=5), task(unique="1d", key="u"), task(singleton="running", key="s"))
    clock.advance(10)

    none = await store.collapsing.prune(before=clock.now(), limit=10)
    for _ in range(3):
        await run(store)
    two = await store.collapsing.prune(before=clock.now(), limit=10)
    clock.advance(86_400)
    last = await store.collapsing.prune(before=clock.now(), limit=10)

    assert (none, two, last) == (0, 2, 1)


@pytest.mark.parametrize("how", ["parks", "restarts"])
async def test_a_durable_task_that_has_begun_is_not_changed_by_a_later_submission(
    store: Store, clock: ManualClock, how: str
) -> None:
    first = await one(store, {"n": 1}, debounce="5s")
    clock.advance(6)
    lease = (await claim_one(store, await open_session(store))).lease
    await record(store, step(lease, "charge"))
    if how == "parks":
        await park(store, lease, sleep("nap", 60_000))
    else:
        await store.durable.restart(RestartRequest(lease=lease, payload=Raw(b'{"n":"next"}')))
    before = await view(store, first.id)

    second = await one(store, {"n": 2}, debounce="5s")

    after = await view(store, first.id)
    assert second.id != first.id
    assert (after.payload, after.due_at) == (before.payload, before.due_at)
    assert await names_of(store, first.id) == (["charge"] if how == "parks" else [])
