import asyncio

import pytest
from msgspec import Raw

from drumline.core.attempt import AttemptOutcome
from drumline.core.clock import ManualClock
from drumline.core.errors import Fenced
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.ports.store import Settled, Settlement, Store
from tests.factories import OOPS, beat, claim, claim_one, open_session, settle, state_of, submit


async def test_a_completed_task_keeps_its_result(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    claimed = await claim_one(store, ada)
    clock.advance(2)

    answer = await settle(store, claimed.lease, Act.COMPLETE, result=Raw(b'{"sum":3}'))

    (view,) = await store.queries.get([task])
    assert view is not None
    assert answer == Settled(State.COMPLETED)
    assert (view.state, view.result, view.worker) == (State.COMPLETED, Raw(b'{"sum":3}'), ada)
    assert view.started_at == clock.now() - 2000
    assert view.finished_at == clock.now()


async def test_a_failed_task_keeps_its_error(store: Store) -> None:
    task = await submit(store)
    claimed = await claim_one(store, await open_session(store))

    await settle(store, claimed.lease, Act.FAIL, error=OOPS)

    (view,) = await store.queries.get([task])
    assert view is not None
    assert (view.state, view.error) == (State.FAILED, OOPS)


async def test_a_task_that_backs_off_is_due_after_its_delay(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    claimed = await claim_one(store, ada)

    answer = await settle(store, claimed.lease, Act.BACK_OFF, delay_ms=2000, error=OOPS)

    (view,) = await store.queries.get([task])
    assert view is not None
    assert answer.hint is not None
    assert (answer.hint.task, answer.hint.due_at, answer.hint.lane) == (task, clock.now() + 2000, view.lane)
    assert (view.state, view.due_at, view.failures, view.error) == (State.QUEUED, clock.now() + 2000, 1, OOPS)
    assert await claim(store, ada) == []
    clock.advance(2)
    assert (await claim_one(store, ada)).attempt == 2


@pytest.mark.parametrize("act", [Act.RELEASE, Act.SNOOZE])
async def test_an_interrupted_attempt_does_not_count(store: Store, act: Act) -> None:
    task = await submit(store)
    ada = await open_session(store)
    first = await claim_one(store, ada)

    await settle(store, first.lease, act)

    second = await claim_one(store, ada)
    (view,) = await store.queries.get([task])
    assert view is not None
    assert second.attempt == 1
    assert second.lease.epoch > first.lease.epoch
    assert (view.failures, view.crashes) == (0, 0)


async def test_a_snoozed_task_is_due_after_its_delay(store: Store, clock: ManualClock) -> None:
    await submit(store)
    ada = await open_session(store)
    claimed = await claim_one(store, ada)

    await settle(store, claimed.lease, Act.SNOOZE, delay_ms=30_000)

    assert await claim(store, ada) == []
    clock.advance(30)
    assert len(await claim(store, ada)) == 1


async def test_a_released_task_keeps_its_place_in_the_queue(store: Store, clock: ManualClock) -> None:
    old = await submit(store)
    ada = await open_session(store)
    claimed = await claim_one(store, ada)
    clock.advance(5)
    await submit(store)

    await settle(store, claimed.lease, Act.RELEASE)

    assert (await claim_one(store, ada)).lease.task == old


async def test_a_late_worker_cannot_overwrite_a_newer_attempt(store: Store) -> None:
    task = await submit(store)
    ada, bob = await open_session(store), await open_session(store)
    stale = await claim_one(store, ada)
    await store.sessions.reap([(ada, 0)], poison_after=5)
    current = await claim_one(store, bob)

    with pytest.raises(Fenced):
        await settle(store, stale.lease, Act.COMPLETE)

    assert await state_of(store, task) is State.RUNNING
    assert await settle(store, current.lease, Act.COMPLETE) == Settled(State.COMPLETED)


async def test_a_late_worker_cannot_settle_a_task_that_waits_again(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    stale = await claim_one(store, ada)
    await store.sessions.reap([(ada, 0)], poison_after=5)

    with pytest.raises(Fenced):
        await settle(store, stale.lease, Act.COMPLETE)

    assert await state_of(store, task) is State.QUEUED


async def test_an_epoch_without_its_nonce_is_no_lease(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    with pytest.raises(Fenced):
        await settle(store, Lease(task, lease.epoch, lease.nonce ^ 1), Act.COMPLETE)

    assert await state_of(store, task) is State.RUNNING


async def test_a_worker_whose_interrupted_attempt_came_back_to_it_cannot_use_the_old_lease(store: Store) -> None:
    await submit(store)
    ada = await open_session(store)
    old = await claim_one(store, ada)
    await settle(store, old.lease, Act.RELEASE)
    new = await claim_one(store, ada)

    repeated = await settle(store, old.lease, Act.COMPLETE)

    assert repeated.state is State.QUEUED, "the first answer again, whatever the repetition says"
    assert await state_of(store, new.lease.task) is State.RUNNING


@pytest.mark.parametrize(
    ("act", "state"),
    [
        (Act.COMPLETE, State.COMPLETED),
        (Act.FAIL, State.FAILED),
        (Act.BACK_OFF, State.QUEUED),
        (Act.RELEASE, State.QUEUED),
        (Act.SNOOZE, State.QUEUED),
        (Act.STOP, State.CANCELLED),
    ],
)
async def test_the_same_settlement_twice_gets_the_first_answer_again(store: Store, act: Act, state: State) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    first = await settle(store, lease, act)
    before = await store.queries.attempts(task)
    second = await settle(store, lease, act)

    assert (first.state, second.state) == (state, state)
    assert await store.queries.attempts(task) == before


async def test_a_settlement_twice_in_one_list_counts_once(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    settlement = Settlement(lease=lease, act=Act.COMPLETE)

    answers = await store.settle([settlement, settlement])

    assert answers == [Settled(State.COMPLETED)] * 2
    assert len(await store.queries.attempts(task)) == 1


async def test_a_mixed_list_is_answered_in_order(store: Store) -> None:
    ada = await open_session(store)
    for _ in range(5):
        await submit(store)
    leases = [task.lease for task in await claim(store, ada)]
    gone = Lease(leases[0].task, 99, 99)

    answers = await store.settle(
        [
            Settlement(lease=leases[0], act=Act.COMPLETE),
            Settlement(lease=gone, act=Act.COMPLETE),
            Settlement(lease=leases[1], act=Act.BACK_OFF, error=OOPS, delay_ms=1000),
            Settlement(lease=leases[2], act=Act.FAIL, error=OOPS),
            Settlement(lease=leases[3], act=Act.RELEASE),
            Settlement(lease=leases[4], act=Act.SNOOZE, delay_ms=1000),
        ]
    )

    states = [answer.state if isinstance(answer, Settled) else None for answer in answers]
    assert states == [State.COMPLETED, None, State.QUEUED, State.FAILED, State.QUEUED, State.QUEUED]
    assert isinstance(answers[1], Fenced)


async def test_two_settlements_of_one_lease_at_once_count_once(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    answers = await asyncio.gather(*(settle(store, lease, Act.COMPLETE) for _ in range(10)))

    assert {answer.state for answer in answers} == {State.COMPLETED}
    assert len(await store.queries.attempts(task)) == 1


@pytest.mark.parametrize("act", [Act.BACK_OFF, Act.RELEASE, Act.SNOOZE])
async def test_a_task_whose_cancellation_was_asked_for_is_not_queued_again(store: Store, act: Act) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await store.control.cancel([task])

    answer = await settle(store, lease, act)

    assert answer == Settled(State.CANCELLED)
    assert await state_of(store, task) is State.CANCELLED


async def test_a_task_that_completes_in_spite_of_a_cancellation_is_completed(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await store.control.cancel([task])

    assert await settle(store, lease, Act.COMPLETE) == Settled(State.COMPLETED)


async def test_standing_tells_failures_and_options_to_the_current_lease_only(store: Store) -> None:
    await submit(store, retries=7)
    ada = await open_session(store)
    old = await claim_one(store, ada)
    await settle(store, old.lease, Act.BACK_OFF)
    new = await claim_one(store, ada)

    stale, current = await store.lease_states([old.lease, new.lease])

    assert stale is None
    assert current is not None
    assert (current.failures, current.options.retries) == (1, 7)


async def test_every_execution_is_in_the_history(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada, bob = await open_session(store), await open_session(store)
    await settle(store, (await claim_one(store, ada)).lease, Act.BACK_OFF)
    await settle(store, (await claim_one(store, bob)).lease, Act.RELEASE)
    crashed = await claim_one(store, ada)
    await store.sessions.reap([(ada, 0)], poison_after=5)
    clock.advance(1)
    await settle(store, (await claim_one(store, bob)).lease, Act.COMPLETE)
    del crashed

    history = await store.queries.attempts(task)

    assert [(row.attempt, row.outcome, row.worker) for row in history] == [
        (1, AttemptOutcome.RETRIED, ada),
        (2, AttemptOutcome.RELEASED, bob),
        (2, AttemptOutcome.CRASHED, ada),
        (3, AttemptOutcome.COMPLETED, bob),
    ]
    assert history[0].error == OOPS
    assert [row.epoch for row in history] == sorted({row.epoch for row in history})


async def test_the_running_execution_is_in_the_history(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await claim_one(store, ada)

    (running,) = await store.queries.attempts(task)

    assert (running.outcome, running.worker) == (AttemptOutcome.RUNNING, ada)
    assert (running.started_at, running.finished_at) == (clock.now(), None)


async def test_a_settled_task_is_no_longer_held(store: Store) -> None:
    await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    await settle(store, lease, Act.COMPLETE)

    (reply,) = await store.sessions.beat([beat(ada, lease)])

    assert reply.lost == (lease.task,)


@pytest.mark.parametrize("results", [(b"1", b"1", b"1"), (b"1", b"2", b"3"), (None, None, None)])
async def test_the_history_is_the_same_whether_a_list_ended_alike_or_not(
    store: Store, clock: ManualClock, results: tuple[bytes | None, ...]
) -> None:
    ada = await open_session(store)
    for _ in results:
        await submit(store)
    tasks = await claim(store, ada, limit=3)
    started_at = clock.now()
    clock.advance(2)

    await store.settle(
        [
            Settlement(lease=task.lease, act=Act.COMPLETE, result=None if result is None else Raw(result))
            for task, result in zip(tasks, results, strict=True)
        ]
    )

    for task, result in zip(tasks, results, strict=True):
        (row,) = await store.queries.attempts(task.lease.task)
        assert (row.epoch, row.attempt, row.outcome, row.worker) == (1, 1, AttemptOutcome.COMPLETED, ada)
        assert (row.started_at, row.finished_at, row.error) == (started_at, clock.now(), None)
        (view,) = await store.queries.get([task.lease.task])
        assert view is not None
        assert (None if view.result is None else bytes(view.result)) == result
        (again,) = await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE)])
        assert again == Settled(State.COMPLETED)
