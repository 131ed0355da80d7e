import asyncio

import pytest
from msgspec.structs import replace

from drumline.core.attempt import AttemptOutcome
from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict, Fenced, NotFound
from drumline.core.ids import SessionId
from drumline.core.session import MOST_CORES, MOST_MEMORY, NO_USAGE, Beat, SessionSpec, TaskType, Usage
from drumline.core.state import Act, State
from drumline.ports.sessions import Left
from drumline.ports.store import Store
from tests.factories import beat, claim, claim_one, open_session, settle, state_of, submit

SPEC = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=1, is_copy=True)


async def test_an_open_session_is_listed_with_what_it_said(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store, "a", "b", queues=["q"], tenant="red")

    (view,) = await store.sessions.sessions()

    assert (view.id, view.spec.names, view.spec.queues, view.spec.tenant) == (ada, ("a", "b"), ("q",), "red")
    assert (view.opened_at, view.beat_at, view.beat, view.held) == (clock.now(), clock.now(), 0, 0)
    assert (view.should_drain, view.closed_at) == (False, None)


async def test_a_beat_moves_the_beat_number_and_time(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    await submit(store)
    lease = (await claim_one(store, ada)).lease
    clock.advance(5)

    (reply,) = await store.sessions.beat([beat(ada, lease)])

    (view,) = await store.sessions.sessions()
    assert (reply.is_open, reply.lost, reply.cancelled, reply.should_drain) == (True, (), (), False)
    assert (view.beat, view.beat_at, view.held) == (1, clock.now(), 1)


async def test_each_worker_is_shown_with_what_its_last_beat_said_it_uses(store: Store) -> None:
    ada, bob, eve = [await open_session(store) for _ in range(3)]
    beats = [
        Beat(session=ada, usage=Usage(memory=84_000_000, cpu=0.37)),
        Beat(session=bob, usage=Usage(memory=MOST_MEMORY, cpu=float(MOST_CORES))),
        Beat(session=eve, usage=Usage(cpu=0.0)),
    ]
    before = [view.usage for view in await store.sessions.sessions()]

    await store.sessions.beat(beats)

    assert before == [NO_USAGE] * 3
    assert {view.id: view.usage for view in await store.sessions.sessions()} == {
        each.session: each.usage for each in beats
    }


async def test_a_beat_that_does_not_say_what_is_used_leaves_no_older_figures(store: Store) -> None:
    ada = await open_session(store)
    await store.sessions.beat([Beat(session=ada, usage=Usage(memory=84_000_000, cpu=0.37))])

    await store.sessions.beat([beat(ada)])

    (view,) = await store.sessions.sessions()
    assert view.usage == NO_USAGE


@pytest.mark.parametrize("is_reaped", [False, True])
async def test_a_worker_that_left_is_shown_with_what_it_used_last(store: Store, is_reaped: bool) -> None:
    ada = await open_session(store)
    await store.sessions.beat([Beat(session=ada, usage=Usage(memory=84_000_000, cpu=1.5))])

    if is_reaped:
        await store.sessions.reap([(ada, 1)], poison_after=3)
    else:
        await store.sessions.close_session(ada)
    await store.sessions.beat([Beat(session=ada, usage=Usage(memory=1, cpu=0.0))])

    (view,) = await store.sessions.sessions(closed=True)
    assert view.closed_at is not None
    assert view.usage == Usage(memory=84_000_000, cpu=1.5)


async def test_one_session_is_found_among_many_also_after_it_closed(store: Store) -> None:
    ada, bob = await open_session(store), await open_session(store, tenant="red")
    await store.sessions.close_session(ada)

    assert [view.id for view in await store.sessions.sessions(closed=True, only=ada)] == [ada]
    assert [view.id for view in await store.sessions.sessions(only=bob)] == [bob]
    assert await store.sessions.sessions(only=ada) == []
    assert await store.sessions.sessions(tenant="blue", only=bob) == []
    assert await store.sessions.sessions(closed=True, only=SessionId(99)) == []


async def test_a_beat_tells_which_leases_were_lost(store: Store) -> None:
    ada = await open_session(store)
    kept, lost = [await submit(store) for _ in range(2)]
    leases = [task.lease for task in await claim(store, ada)]
    await store.control.cancel([lost], force=True)

    (reply,) = await store.sessions.beat([beat(ada, *leases)])

    assert reply.is_open
    assert reply.lost == (lost,)
    assert await state_of(store, kept) is State.RUNNING


async def test_a_beat_tells_which_tasks_should_stop(store: Store) -> None:
    ada = await open_session(store)
    task = await submit(store)
    lease = (await claim_one(store, ada)).lease
    await store.control.cancel([task])

    (reply,) = await store.sessions.beat([beat(ada, lease)])

    assert (reply.cancelled, reply.lost) == ((task,), ())


async def test_a_beat_tells_a_session_to_drain(store: Store) -> None:
    ada = await open_session(store)
    await store.sessions.drain_session(ada)

    (reply,) = await store.sessions.beat([beat(ada)])

    assert reply.should_drain


async def test_a_drain_that_was_undone_is_not_told_and_the_session_is_given_tasks_again(store: Store) -> None:
    ada = await open_session(store)
    await submit(store)
    await store.sessions.drain_session(ada)
    assert await claim(store, ada) == []

    await store.sessions.undrain_session(ada)

    (reply,) = await store.sessions.beat([beat(ada)])
    assert not reply.should_drain
    assert len(await claim(store, ada)) == 1


async def test_a_session_leaves_only_while_it_is_asked_to_drain(store: Store) -> None:
    ada, bob = await open_session(store), await open_session(store)
    for each in (ada, bob):
        await store.sessions.drain_session(each)
    await store.sessions.undrain_session(bob)

    assert [await store.sessions.leave_session(each) for each in (ada, bob)] == [Left.CLOSED, Left.KEPT]
    assert await store.sessions.leave_session(ada) is Left.CLOSED  # asked again, for the answer was lost
    assert [view.id for view in await store.sessions.sessions()] == [bob]


async def test_a_drain_is_undone_twice_and_of_a_session_that_was_never_asked(store: Store) -> None:
    ada = await open_session(store)

    await store.sessions.undrain_session(ada)
    await store.sessions.drain_session(ada)
    await store.sessions.undrain_session(ada)
    await store.sessions.undrain_session(ada)

    (view,) = await store.sessions.sessions()
    assert not view.should_drain


async def test_undoing_the_drain_of_a_session_that_has_left_is_a_conflict(store: Store) -> None:
    ada = await open_session(store)
    await store.sessions.drain_session(ada)
    await store.sessions.leave_session(ada)

    with pytest.raises(Conflict, match="has left already"):
        await store.sessions.undrain_session(ada)


async def test_undoing_the_drain_of_an_unknown_session_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.sessions.undrain_session(SessionId(99))


async def test_a_worker_leaves_or_its_drain_is_undone_but_never_both(store: Store) -> None:
    sessions = [await open_session(store) for _ in range(20)]
    for session in sessions:
        await store.sessions.drain_session(session)

    async def undo(session: SessionId) -> bool:
        try:
            await store.sessions.undrain_session(session)
        except Conflict:
            return False
        return True

    acts = [(store.sessions.leave_session(session), undo(session)) for session in sessions]
    answers = await asyncio.gather(*(asyncio.gather(*pair) for pair in acts))

    assert {(left, undone) for left, undone in answers} <= {(Left.CLOSED, False), (Left.KEPT, True)}


async def test_a_closed_session_s_beat_is_told_so(store: Store) -> None:
    ada = await open_session(store)
    await store.sessions.close_session(ada)

    (reply,) = await store.sessions.beat([beat(ada)])

    assert not reply.is_open


async def test_many_sessions_beat_in_one_call(store: Store) -> None:
    sessions = [await open_session(store) for _ in range(20)]

    replies = await store.sessions.beat([beat(session) for session in sessions])

    assert all(reply.is_open for reply in replies)
    assert [view.beat for view in await store.sessions.sessions()] == [1] * 20


async def test_open_sessions_are_found_by_their_ids(store: Store) -> None:
    ada, bob, _ = [await open_session(store, name, queues=["q"]) for name in ("a", "b", "c")]
    await store.sessions.close_session(bob)

    found = await store.sessions.session_specs([SessionId(99), ada, bob])

    assert [None if spec is None else spec.names for spec in found] == [None, ("a",), None]


async def test_the_beat_numbers_of_open_sessions_are_told(store: Store) -> None:
    ada, bob, eve = [await open_session(store) for _ in range(3)]
    await store.sessions.beat([beat(ada), beat(bob)])
    await store.sessions.close_session(bob)

    assert await store.sessions.beat_numbers() == {ada: 1, eve: 0}


async def test_draining_an_unknown_session_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.sessions.drain_session(SessionId(99))


async def test_a_closed_session_is_listed_only_when_asked_for(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    await store.sessions.close_session(ada)

    assert await store.sessions.sessions() == []
    assert [view.closed_at for view in await store.sessions.sessions(closed=True)] == [clock.now()]


async def test_a_dead_session_s_tasks_run_again_elsewhere(store: Store) -> None:
    task = await submit(store)
    ada, bob = await open_session(store), await open_session(store)
    first = await claim_one(store, ada)

    reaped = await store.sessions.reap([(ada, 0)], poison_after=5)

    second = await claim_one(store, bob)
    assert reaped.sessions == (ada,)
    assert [hint.task for hint in reaped.requeued] == [task]
    assert second.lease.task == task
    assert second.lease.epoch > first.lease.epoch
    assert second.attempt == 2


async def test_a_session_that_has_beaten_since_is_not_reaped(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    await store.sessions.beat([beat(ada, lease)])

    reaped = await store.sessions.reap([(ada, 0)], poison_after=5)

    assert reaped.sessions == ()
    assert await state_of(store, task) is State.RUNNING


async def test_tasks_left_by_a_session_that_closed_in_order_are_given_back_without_counting(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await claim_one(store, ada)
    await store.sessions.close_session(ada)

    reaped = await store.sessions.reap([], poison_after=1)

    (view,) = await store.queries.get([task])
    assert view is not None
    assert [hint.task for hint in reaped.requeued] == [task]
    assert (view.state, view.attempt, view.crashes) == (State.QUEUED, 0, 0)


async def test_a_crash_is_counted_apart_from_failures(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await claim_one(store, ada)

    await store.sessions.reap([(ada, 0)], poison_after=5)

    (view,) = await store.queries.get([task])
    assert view is not None
    assert (view.crashes, view.failures) == (1, 0)


async def test_a_task_whose_workers_keep_dying_is_failed_as_poison(store: Store) -> None:
    task = await submit(store)
    outcomes = []
    for _ in range(3):
        session = await open_session(store)
        await claim_one(store, session)
        outcomes.append(await store.sessions.reap([(session, 0)], poison_after=3))

    (view,) = await store.queries.get([task])
    assert view is not None
    assert [len(reaped.requeued) for reaped in outcomes] == [1, 1, 0]
    assert outcomes[2].poisoned == (task,)
    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.kind == "Poison"


async def test_a_dead_worker_s_task_whose_cancellation_was_asked_for_is_cancelled(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await claim_one(store, ada)
    await store.control.cancel([task])

    reaped = await store.sessions.reap([(ada, 0)], poison_after=5)

    assert reaped.requeued == ()
    assert await state_of(store, task) is State.CANCELLED


async def test_a_reaped_worker_is_fenced_and_told(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    await store.sessions.reap([(ada, 0)], poison_after=5)

    (reply,) = await store.sessions.beat([beat(ada, lease)])

    assert not reply.is_open
    assert reply.lost == (task,)
    with pytest.raises(Fenced):
        await settle(store, lease, Act.COMPLETE)


async def test_a_claim_whose_answer_was_lost_is_released_after_two_beats(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await claim_one(store, ada)

    clock.advance(5)
    await store.sessions.beat([beat(ada)])
    after_one = await store.sessions.reap([], poison_after=5)
    clock.advance(5)
    await store.sessions.beat([beat(ada)])
    after_two = await store.sessions.reap([], poison_after=5)

    (view,) = await store.queries.get([task])
    assert view is not None
    assert (after_one.ghosts, after_two.ghosts) == (0, 1)
    assert (view.state, view.attempt, view.crashes) == (State.QUEUED, 0, 0)
    assert [row.outcome for row in await store.queries.attempts(task)] == [AttemptOutcome.RELEASED]


async def test_a_beat_after_one_that_was_not_answered_does_not_count_against_claims(
    store: Store, clock: ManualClock
) -> None:
    """Both may have been on their way before the claim's answer, and come after it."""
    await submit(store)
    ada = await open_session(store)
    await claim_one(store, ada)
    ghosts = []

    for is_again in (False, True, True, False):
        clock.advance(5)
        await store.sessions.beat([Beat(session=ada, again=is_again)])
        ghosts.append((await store.sessions.reap([], poison_after=5)).ghosts)

    assert ghosts == [0, 0, 0, 1]


async def test_a_task_that_its_session_still_lists_is_never_a_ghost(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    for _ in range(5):
        clock.advance(5)
        await store.sessions.beat([beat(ada, lease)])

    assert (await store.sessions.reap([], poison_after=5)).ghosts == 0
    assert await state_of(store, task) is State.RUNNING


async def test_a_task_claimed_just_before_a_beat_is_not_a_ghost(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    for _ in range(3):
        clock.advance(5)
        await store.sessions.beat([beat(ada)])
    await submit(store)
    await claim_one(store, ada)
    clock.advance(0.1)
    await store.sessions.beat([beat(ada)])

    assert (await store.sessions.reap([], poison_after=5)).ghosts == 0


async def test_a_session_says_what_it_serves_now_and_keeps_what_it_can_run(store: Store) -> None:
    ada = await open_session(store, "work", queues=["a"])
    bob = await open_session(store, "work")

    await store.sessions.change_session(ada, queues=["b", "c"], capacity=20)

    (spec, other) = await store.sessions.session_specs([ada, bob])
    assert spec is not None
    assert (spec.queues, spec.capacity, spec.names) == (("b", "c"), 20, ("work",))
    assert other is not None
    assert other.queues == ()
    await store.sessions.close_session(ada)
    await store.sessions.change_session(ada, queues=[], capacity=1)
    closed = {view.id: view.spec.capacity for view in await store.sessions.sessions(closed=True)}
    assert closed[ada] == 20


async def test_the_versions_of_applications_are_kept_with_their_session_in_every_shard_and_through_changes(
    store: Store,
) -> None:
    ada, bob, eve = SessionId(77), SessionId(78), await open_session(store)
    spec = replace(SPEC, app_version="shop 1.4.2, billing 7")

    await store.sessions.open_session(ada, spec)
    await store.sessions.ensure_session(bob, spec)
    await store.sessions.change_session(ada, queues=["b"], capacity=20)
    await store.sessions.pause_in_session(ada, names=["work"])
    await store.sessions.close_session(bob)

    told = {view.id: view.spec.app_version for view in await store.sessions.sessions(closed=True)}
    assert told == {ada: "shop 1.4.2, billing 7", bob: "shop 1.4.2, billing 7", eve: ""}


async def test_a_session_that_exists_elsewhere_is_registered_and_can_claim(store: Store) -> None:
    await submit(store)
    ada = SessionId(77)

    assert await store.sessions.ensure_session(ada, SPEC)
    assert await store.sessions.ensure_session(ada, SPEC)

    assert await store.sessions.beat_numbers() == {ada: 0}
    assert len(await claim(store, ada)) == 1


async def test_a_reaped_session_that_is_opened_again_claims_and_outlives_a_reaper_that_saw_it_before(
    store: Store, clock: ManualClock
) -> None:
    ada = await open_session(store)
    await store.sessions.reap([(ada, 0)], poison_after=5)
    clock.advance(1)

    assert await store.sessions.ensure_session(ada, SPEC)
    late = await store.sessions.reap([(ada, 0)], poison_after=5)
    task = await submit(store)
    lease = (await claim_one(store, ada)).lease
    clock.advance(5)
    (reply,) = await store.sessions.beat([beat(ada, lease)])

    assert late.sessions == ()
    assert (reply.is_open, reply.lost) == (True, ())
    assert (await store.sessions.reap([], poison_after=5)).ghosts == 0
    assert await state_of(store, task) is State.RUNNING


async def test_a_claim_after_a_session_was_opened_again_is_a_ghost_only_after_two_beats(
    store: Store, clock: ManualClock
) -> None:
    ada = await open_session(store)
    await store.sessions.reap([(ada, 0)], poison_after=5)
    clock.advance(1)
    await store.sessions.ensure_session(ada, SPEC)
    await submit(store)
    await claim_one(store, ada)
    ghosts = []
    for _ in range(2):
        clock.advance(5)
        await store.sessions.beat([beat(ada)])
        ghosts.append((await store.sessions.reap([], poison_after=5)).ghosts)

    assert ghosts == [0, 1]


async def test_a_session_that_was_closed_in_order_is_not_opened_again(store: Store) -> None:
    ada = await open_session(store)
    await store.sessions.close_session(ada)

    assert not await store.sessions.ensure_session(ada, SPEC)

    assert await store.sessions.beat_numbers() == {}
