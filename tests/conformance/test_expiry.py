"""A task that has not started by its expiry time can be found and cancelled; one that has started goes on."""

from typing import Any

from drumline.core.clock import Instant, ManualClock
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.core.task import NewTask
from drumline.ports.expiry import DueExpiries
from drumline.ports.store import Changed, Store
from tests.factories import accepted, claim_one, new_id, open_session, settle, state_of
from tests.job_factories import job_of, submit_job

LATE = ErrorInfo("Expired", "not started in time")


SECOND = 1.5
"""As far as the clock goes for a second to have passed: ids are made a little ahead of it."""


def expiring_task(**fields: Any) -> NewTask:
    """Return a task that expires in a second."""
    return accepted(**({"expires": 1} | fields))


async def expiring(store: Store) -> tuple[TaskId, Instant]:
    """Store a task that expires in a second, and return it with its expiry time."""
    task = expiring_task()
    await store.submit([task])
    assert task.expires_at is not None
    return task.id, task.expires_at


async def test_nothing_is_due_before_its_time(store: Store) -> None:
    task, _ = await expiring(store)

    assert await store.expiry.due_expiries(limit=10) == DueExpiries({}, [])
    assert await store.expiry.expired([task]) == {}


async def test_a_task_that_waits_is_due_at_its_time(store: Store, clock: ManualClock) -> None:
    task, expires_at = await expiring(store)
    clock.advance(SECOND)

    assert await store.expiry.due_expiries(limit=10) == DueExpiries({task: expires_at}, [])
    assert await store.expiry.expired([task, new_id()]) == {task: expires_at}


async def test_tasks_are_given_by_time_up_to_the_limit(store: Store, clock: ManualClock) -> None:
    late, early = expiring_task(expires=1), expiring_task(expires=0.5)
    await store.submit([late, early])
    clock.advance(SECOND)

    assert list((await store.expiry.due_expiries(limit=1)).waiting) == [early.id]


async def test_a_task_that_started_in_time_is_over(store: Store, clock: ManualClock) -> None:
    task, _ = await expiring(store)
    lease = (await claim_one(store, await open_session(store))).lease
    clock.advance(SECOND)

    assert await store.expiry.due_expiries(limit=10) == DueExpiries({}, [task])

    await settle(store, lease, Act.BACK_OFF)
    assert await store.expiry.due_expiries(limit=10) == DueExpiries({}, [task])
    assert await store.expiry.expired([task]) == {}


async def test_a_task_that_was_claimed_too_late_has_expired_also_after_a_crash(
    store: Store, clock: ManualClock
) -> None:
    task, expires_at = await expiring(store)
    clock.advance(SECOND)
    session = await open_session(store)
    await claim_one(store, session)
    assert await store.expiry.expired([task]) == {task: expires_at}
    assert await store.expiry.due_expiries(limit=10) == DueExpiries({}, []), "its claim cancels it"

    await store.sessions.close_session(session)
    await store.sessions.reap([], poison_after=3)

    assert await state_of(store, task) is State.QUEUED
    assert await store.expiry.due_expiries(limit=10) == DueExpiries({task: expires_at}, [])


async def test_a_late_claim_that_nobody_cancelled_holds_nothing_up(store: Store, clock: ManualClock) -> None:
    task, _ = await expiring(store)
    clock.advance(SECOND)
    await claim_one(store, await open_session(store))
    clock.advance(61.0)

    assert await store.expiry.due_expiries(limit=10) == DueExpiries({}, [task])


async def test_an_ended_task_is_over(store: Store, clock: ManualClock) -> None:
    task, _ = await expiring(store)
    await store.control.cancel([task])
    clock.advance(SECOND)

    assert await store.expiry.due_expiries(limit=10) == DueExpiries({}, [task])


async def test_a_task_that_was_retried_does_not_expire(store: Store, clock: ManualClock) -> None:
    task, _ = await expiring(store)
    clock.advance(SECOND)
    await store.control.cancel([task])
    await store.control.retry([task])

    assert await store.expiry.due_expiries(limit=10) == DueExpiries({}, [])
    assert await store.expiry.expired([task]) == {}


async def test_a_task_stored_twice_expires_once(store: Store, clock: ManualClock) -> None:
    task = expiring_task(idempotency_key="k")
    await store.submit([task])
    await store.submit([task])
    clock.advance(SECOND)

    assert list((await store.expiry.due_expiries(limit=10)).waiting) == [task.id]


async def test_a_blocked_task_of_a_job_expires_too(store: Store, clock: ManualClock) -> None:
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}, task={"expires": 1}))
    clock.advance(SECOND)

    assert set((await store.expiry.due_expiries(limit=10)).waiting) == set(job.tasks.values())


async def test_expired_tasks_are_cancelled_with_their_error_and_running_ones_are_not(store: Store) -> None:
    running, _ = await expiring(store)
    await claim_one(store, await open_session(store))
    waiting, _ = await expiring(store)

    refused, cancelled = await store.control.cancel([running, waiting], errors={running: LATE, waiting: LATE})

    assert not isinstance(refused, Changed)
    assert cancelled == Changed(waiting, State.CANCELLED, epoch=1)
    (view, other) = await store.queries.get([waiting, running])
    assert view is not None
    assert other is not None
    assert (view.state, view.error) == (State.CANCELLED, LATE)
    assert (other.state, other.cancel_requested) == (State.RUNNING, False)


async def test_a_lease_that_came_too_late_ends_with_its_error(store: Store, clock: ManualClock) -> None:
    task, _ = await expiring(store)
    clock.advance(SECOND)
    lease = (await claim_one(store, await open_session(store))).lease

    assert (await settle(store, lease, Act.STOP, error=LATE)).state is State.CANCELLED

    (view,) = await store.queries.get([task])
    assert view is not None
    assert view.error == LATE
