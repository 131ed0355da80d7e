"""A task that somebody waits for is stored with its lease: as if it had been submitted, and then claimed."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Fenced
from drumline.core.flow import LimitRequest, accept_limit
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask, NewTask, accept
from drumline.ports.store import Settlement, Store, StoredLeased
from tests.conformance.test_outbox import change, of_task, start, words
from tests.factories import beat, claim, new_id, open_session, request, settle, state_of

NONCE = 77
POISON_AFTER = 3


def new_task(name: str = "work", *, tenant: str = "default", **fields: Any) -> NewTask:
    return accept(request(name, {"x": 1}, **fields), id=new_id(), tenant=tenant)


async def store_leased(store: Store, session: SessionId, task: NewTask | None = None) -> StoredLeased:
    return await store.submit_leased(task or new_task(), session=session, nonce=NONCE)


async def leased(store: Store, session: SessionId) -> ClaimedTask:
    claimed = (await store_leased(store, session)).claimed
    assert claimed is not None
    return claimed


async def test_it_is_what_a_claim_would_have_given(store: Store) -> None:
    ada = await open_session(store)
    task = new_task(queue="mail", priority=3, tags=("red",))

    stored = await store_leased(store, ada, task)

    assert stored.submitted.id == task.id
    assert [stored.claimed] == await claim(store, ada, nonce=NONCE, again=True)
    (view,) = await store.queries.get([task.id])
    assert view is not None
    assert (view.state, view.epoch, view.attempt, view.worker) == (State.RUNNING, 1, 1, ada)
    assert view.started_at == view.created_at == view.due_at == stored.submitted.due_at


async def test_it_is_nobody_elses(store: Store) -> None:
    ada, bob = await open_session(store), await open_session(store)
    task = await leased(store, ada)

    assert await claim(store, bob) == []
    assert await claim(store, bob, hints=(task.lease.task,)) == []


async def test_its_lease_completes_it_and_no_other_does(store: Store) -> None:
    task = await leased(store, await open_session(store))
    wrong = Settlement(lease=Lease(task.lease.task, task.lease.epoch, NONCE + 1), act=Act.COMPLETE)

    (refused,) = await store.settle([wrong])
    settled = await settle(store, task.lease, Act.COMPLETE)

    assert isinstance(refused, Fenced)
    assert settled.state is State.COMPLETED
    (attempt,) = await store.queries.attempts(task.lease.task)
    assert (attempt.epoch, attempt.attempt) == (1, 1)


async def test_a_worker_that_is_late_cannot_end_what_was_given_back(store: Store) -> None:
    ada, bob = await open_session(store), await open_session(store)
    task = await leased(store, ada)
    await settle(store, task.lease, Act.RELEASE)
    (again,) = await claim(store, bob)

    await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE)])

    assert again.attempt == 1
    assert await state_of(store, task.lease.task) is State.RUNNING
    assert (await settle(store, again.lease, Act.COMPLETE)).state is State.COMPLETED


async def test_both_changes_are_told_in_their_order(store: Store) -> None:
    began = await start(store)
    ada = await open_session(store)
    task = await leased(store, ada)
    await settle(store, task.lease, Act.COMPLETE)

    events = await of_task(store, began, task.lease.task)

    assert words(events) == ["submitted", "claimed", "completed"]
    assert [change(event).attempt for event in events[1:]] == [1, 1]


Case = Callable[[Store], Awaitable[tuple[SessionId, NewTask]]]


async def not_open(store: Store) -> tuple[SessionId, NewTask]:
    ada = await open_session(store)
    await store.sessions.close_session(ada)
    return ada, new_task()


async def unknown(_store: Store) -> tuple[SessionId, NewTask]:
    return SessionId(1), new_task()


async def draining(store: Store) -> tuple[SessionId, NewTask]:
    ada = await open_session(store)
    await store.sessions.drain_session(ada)
    return ada, new_task()


async def of_another_name(store: Store) -> tuple[SessionId, NewTask]:
    return await open_session(store, "worker", "wor"), new_task()


async def in_another_queue(store: Store) -> tuple[SessionId, NewTask]:
    return await open_session(store, queues=("mail", "default2")), new_task()


async def another_tenants(store: Store) -> tuple[SessionId, NewTask]:
    return await open_session(store, tenant="acme"), new_task()


async def moved_to_another_queue(store: Store) -> tuple[SessionId, NewTask]:
    ada = await open_session(store)
    await store.sessions.change_session(ada, queues=("mail",), capacity=1)
    return ada, new_task()


async def paused(store: Store) -> tuple[SessionId, NewTask]:
    ada = await open_session(store)
    await store.control.pause_queue("default", tenant="default")
    return ada, new_task()


async def limited(store: Store) -> tuple[SessionId, NewTask]:
    ada = await open_session(store)
    await store.limits.set_limit(accept_limit("few", LimitRequest(task="work", max_concurrent=1), tenant="default"))
    return ada, new_task()


@pytest.mark.parametrize(
    "case",
    [
        not_open, unknown, draining, of_another_name, in_another_queue, another_tenants, moved_to_another_queue,
        paused, limited,
    ],
)  # fmt: skip
async def test_a_session_that_cannot_be_given_it_is_not(store: Store, case: Case) -> None:
    began = await start(store)
    session, task = await case(store)

    stored = await store_leased(store, session, task)

    assert stored.claimed is None
    assert await state_of(store, task.id) is State.QUEUED
    assert words(await of_task(store, began, task.id)) == ["submitted"]
    (view,) = await store.queries.get([task.id])
    assert view is not None
    assert (view.epoch, view.attempt, view.due_at) == (0, 0, stored.submitted.due_at)


async def test_a_session_of_its_tenant_and_queue_is_given_it(store: Store) -> None:
    ada = await open_session(store, "other", "work", queues=("mail", "web"), tenant="acme")

    stored = await store_leased(store, ada, new_task(tenant="acme", queue="web"))

    assert stored.claimed is not None
    assert (stored.claimed.tenant, stored.claimed.queue) == ("acme", "web")


async def test_what_the_session_never_heard_of_is_released_after_two_beats(store: Store, clock: ManualClock) -> None:
    ada, bob = await open_session(store), await open_session(store)
    task = await leased(store, ada)

    clock.advance(5)
    await store.sessions.beat([beat(ada)])
    first = await store.sessions.reap([], poison_after=POISON_AFTER)
    clock.advance(5)
    await store.sessions.beat([beat(ada)])
    second = await store.sessions.reap([], poison_after=POISON_AFTER)

    assert (first.ghosts, second.ghosts) == (0, 1)
    (again,) = await claim(store, bob)
    assert (again.lease.task, again.attempt) == (task.lease.task, 1)
    (late,) = await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE)])
    assert isinstance(late, Fenced)


async def test_what_the_session_holds_is_left_to_it(store: Store) -> None:
    ada = await open_session(store)
    task = await leased(store, ada)

    for _ in range(3):
        await store.sessions.beat([beat(ada, task.lease)])
    reaped = await store.sessions.reap([], poison_after=POISON_AFTER)

    assert reaped.ghosts == 0
    assert await state_of(store, task.lease.task) is State.RUNNING


async def test_what_a_dead_session_was_leased_begins_elsewhere(store: Store) -> None:
    ada, bob = await open_session(store), await open_session(store)
    task = await leased(store, ada)
    numbers = await store.sessions.beat_numbers()

    reaped = await store.sessions.reap([(ada, numbers[ada])], poison_after=POISON_AFTER)

    assert [hint.task for hint in reaped.requeued] == [task.lease.task]
    (again,) = await claim(store, bob)
    assert again.attempt == 2
