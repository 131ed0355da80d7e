import pytest

from drumline.core.attempt import AttemptOutcome
from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Conflict, Fenced, NotFound
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.ports.store import Change, Changed, Store
from tests.factories import claim, claim_one, new_id, open_session, settle, state_of, submit


async def test_a_waiting_task_is_cancelled_at_once(store: Store) -> None:
    task = await submit(store)

    assert await store.control.cancel([task]) == [Changed(task, State.CANCELLED, epoch=1)]

    assert await state_of(store, task) is State.CANCELLED
    assert await claim(store, await open_session(store)) == []
    assert [row.outcome for row in await store.queries.attempts(task)] == [AttemptOutcome.CANCELLED]


async def test_a_running_task_is_asked_to_stop(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    assert await store.control.cancel([task]) == [Changed(task, State.RUNNING, epoch=1)]

    (view,) = await store.queries.get([task])
    assert view is not None
    assert view.cancel_requested
    assert (await settle(store, lease, Act.STOP)).state is State.CANCELLED


async def test_a_forced_cancel_ends_a_running_task_and_fences_its_worker(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    assert await store.control.cancel([task], force=True) == [Changed(task, State.CANCELLED, epoch=1)]

    with pytest.raises(Fenced):
        await settle(store, lease, Act.COMPLETE)
    assert await state_of(store, task) is State.CANCELLED


async def test_an_ended_task_cannot_be_cancelled(store: Store) -> None:
    task = await submit(store)
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.COMPLETE)

    (answer,) = await store.control.cancel([task])

    assert isinstance(answer, Conflict)


async def test_many_are_answered_in_order(store: Store) -> None:
    waiting, ended = await submit(store), await submit(store)
    await store.control.cancel([ended])

    answers = await store.control.cancel([ended, new_id(), waiting])

    assert [type(answer) for answer in answers] == [Conflict, NotFound, Changed]


async def test_another_tenant_s_task_is_not_found(store: Store) -> None:
    task = await submit(store, tenant="red")

    for answers in (
        await store.control.cancel([task], tenant="blue"),
        await store.control.retry([task], tenant="blue"),
        await store.control.reschedule([Change(task=task, delay_ms=1)], tenant="blue"),
    ):
        assert isinstance(answers[0], NotFound)
    assert await state_of(store, task) is State.QUEUED
    assert await store.queries.get([task], tenant="blue") == [None]


async def test_a_waiting_task_can_be_put_off(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)

    (answer,) = await store.control.reschedule([Change(task=task, delay_ms=60_000)])

    assert isinstance(answer, Changed)
    assert answer.hint is not None
    assert answer.hint.due_at == clock.now() + 60_000
    assert await claim(store, ada) == []
    clock.advance(60)
    assert len(await claim(store, ada)) == 1


async def test_a_waiting_task_can_be_moved_to_a_time(store: Store, clock: ManualClock) -> None:
    task = await submit(store, delay=3600)

    await store.control.reschedule([Change(task=task, run_at=Instant(clock.now()))])

    assert len(await claim(store, await open_session(store))) == 1


async def test_a_waiting_task_can_change_its_priority(store: Store) -> None:
    first, second = await submit(store), await submit(store)

    (answer,) = await store.control.reschedule([Change(task=second, priority=50)])

    (view,) = await store.queries.get([second])
    assert view is not None
    assert view.lane.priority == 50
    assert isinstance(answer, Changed)
    assert answer.hint is not None
    assert answer.hint.lane == view.lane
    order = [task.lease.task for task in await claim(store, await open_session(store))]
    assert order == [second, first]
    (view,) = await store.queries.get([second])
    assert view is not None
    assert view.lane.priority == 50


@pytest.mark.parametrize("act", [Act.FAIL, Act.STOP])
async def test_an_ended_task_can_be_run_again(store: Store, clock: ManualClock, act: Act) -> None:
    task = await submit(store, delay=1)
    ada = await open_session(store)
    clock.advance(1)
    first = await claim_one(store, ada)
    await settle(store, first.lease, act)
    clock.advance(1)

    (answer,) = await store.control.retry([task])

    assert isinstance(answer, Changed)
    assert answer.state is State.QUEUED
    assert answer.hint is not None
    assert answer.hint.due_at == clock.now()
    second = await claim_one(store, ada)
    assert second.lease.epoch > first.lease.epoch
    assert second.attempt == 2
    assert (await settle(store, second.lease, Act.COMPLETE)).state is State.COMPLETED
    assert await state_of(store, task) is State.COMPLETED


async def test_a_task_cancelled_while_waiting_can_be_run_again(store: Store) -> None:
    task = await submit(store)
    await store.control.cancel([task])
    await store.control.retry([task])
    await store.control.cancel([task])
    await store.control.retry([task])

    lease = (await claim_one(store, await open_session(store))).lease

    assert (await settle(store, lease, Act.COMPLETE)).state is State.COMPLETED


async def test_a_retried_task_has_its_retries_to_spend_anew(store: Store) -> None:
    task = await submit(store, retries=1)
    ada = await open_session(store)
    await settle(store, (await claim_one(store, ada)).lease, Act.BACK_OFF)
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL)
    await store.control.retry([task])

    (standing,) = await store.lease_states([(await claim_one(store, ada)).lease])

    assert standing is not None
    assert standing.failures == 0


async def test_a_late_worker_cannot_settle_a_task_that_was_retried(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    stale = await claim_one(store, ada)
    await store.control.cancel([task], force=True)
    await store.control.retry([task])
    await claim_one(store, ada)

    with pytest.raises(Fenced):
        await settle(store, stale.lease, Act.COMPLETE)


async def test_a_completed_task_cannot_be_run_again(store: Store) -> None:
    task = await submit(store)
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.COMPLETE)

    (answer,) = await store.control.retry([task])

    assert isinstance(answer, Conflict)
    assert await state_of(store, task) is State.COMPLETED


async def test_every_change_of_a_waiting_task_raises_its_epoch(store: Store) -> None:
    session = await open_session(store)
    task = await submit(store)
    epochs = [await epoch_of(store, task)]

    for change in (Change(task=task, run_at=Instant(5)), Change(task=task, priority=5), Change(task=task, delay_ms=0)):
        await store.control.reschedule([change])
        epochs.append(await epoch_of(store, task))
    (claimed,) = await claim(store, session)
    await settle(store, claimed.lease, Act.RELEASE)
    epochs.append(await epoch_of(store, task))
    await store.control.cancel([task])
    await store.control.retry([task])
    epochs.append(await epoch_of(store, task))

    assert epochs == sorted(set(epochs))


async def epoch_of(store: Store, task: TaskId) -> int:
    (view,) = await store.queries.get([task])
    assert view is not None
    return view.epoch
