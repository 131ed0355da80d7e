"""A restart ends a round of a task: the next one begins anew, and what was before it stays visible."""

import pytest
from msgspec import Raw

from drumline.core.attempt import AttemptOutcome
from drumline.core.children import OnEnd
from drumline.core.clock import ManualClock
from drumline.core.durable import KEPT_ROUNDS, SIGNAL_REPEATED_MS, RecordStatus, RestartRequest, Wait, WaitKind
from drumline.core.errors import Conflict, Fenced, NotFound
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.ports.durable import RecordLimits, Restarted, Signalled
from drumline.ports.store import Settled, Store
from tests.child_factories import CALL, CHILD, PARENT, children_of, claim_child, claim_parent, family, parked, start
from tests.durable_factories import answered, names_of, park, record, signal, sleep, step, steps_of, wait
from tests.factories import claim, claim_one, open_session, settle, state_of, submit
from tests.job_factories import claim_keys, job_of, submit_job

APPROVED = Wait(kind=WaitKind.SIGNAL, name="approved")
DAY = 86_400_000


async def restart(store: Store, lease: Lease, payload: bytes = b'{"n":2}') -> Restarted:
    return await store.durable.restart(RestartRequest(lease=lease, payload=Raw(payload)))


async def running(store: Store) -> Lease:
    await submit(store)
    return (await claim_one(store, await open_session(store))).lease


async def payload_of(store: Store, task: TaskId) -> bytes:
    (view,) = await store.queries.get([task])
    assert view is not None
    assert view.payload is not None
    return bytes(view.payload)


async def test_the_next_round_has_the_new_payload_and_no_records(store: Store) -> None:
    lease = await running(store)
    await record(store, step(lease, "charge", 1))

    answer = await restart(store, lease)

    assert isinstance(answer, Settled)
    assert (answer.state, answer.hint and answer.hint.task) == (State.QUEUED, lease.task)
    again = await claim_one(store, await open_session(store))
    assert (again.lease.task, again.lease.epoch > lease.epoch) == (lease.task, True)
    assert (bytes(again.payload), again.recorded, again.attempt) == (b'{"n":2}', 0, 1)
    assert await names_of(store, lease.task) == []
    assert await payload_of(store, lease.task) == b'{"n":2}'


async def test_earlier_rounds_stay_visible(store: Store, clock: ManualClock) -> None:
    lease = await running(store)
    given = await payload_of(store, lease.task)
    await record(store, step(lease, "a", 1))
    await record(store, step(lease, "b", 2))
    await restart(store, lease)
    ended = clock.now()
    clock.advance(5)
    second = (await claim_one(store, await open_session(store))).lease
    await record(store, step(second, "a", "another"))

    view = await steps_of(store, lease.task)
    first = await store.durable.steps(lease.task, after=0, limit=1, round=1)
    rest = await store.durable.steps(lease.task, after=1, limit=9, round=1)
    same = await store.durable.steps(lease.task, after=0, limit=9, round=2)
    none = await store.durable.steps(lease.task, after=0, limit=9, round=3)

    assert (view.round, [(each.round, each.records, each.ended_at) for each in view.rounds]) == (2, [(1, 2, ended)])
    assert [each.value for each in view.page.records] == [Raw(b'"another"')]
    assert not isinstance(first, NotFound)
    assert not isinstance(rest, NotFound)
    assert [(each.name, each.value) for each in first.page.records] == [("a", Raw(b"1"))]
    assert (first.page.has_more, first.round, bytes(first.payload or b"")) == (True, 1, given)
    assert [each.name for each in rest.page.records] == ["b"]
    assert same == view
    assert isinstance(none, NotFound)
    assert none.field == "round"
    history = await store.queries.attempts(lease.task)
    assert [each.outcome for each in history][:1] == [AttemptOutcome.RESTARTED]


async def test_a_restart_sent_twice_is_one(store: Store) -> None:
    lease = await running(store)
    first = await restart(store, lease)

    again = await restart(store, lease, b'{"n":3}')

    assert isinstance(first, Settled)
    assert isinstance(again, Settled)
    assert (again.state, again.hint) == (first.state, first.hint)  # if the first answer was lost, so was its hint
    assert await payload_of(store, lease.task) == b'{"n":2}'
    assert len((await steps_of(store, lease.task)).rounds) == 1


@pytest.mark.parametrize("act", [Act.BACK_OFF, Act.RELEASE, Act.SNOOZE])
async def test_a_lease_that_is_over_restarts_nothing(store: Store, act: Act) -> None:
    lease = await running(store)
    given = await payload_of(store, lease.task)
    await record(store, step(lease, "a"))
    await settle(store, lease, act)
    now = (await claim_one(store, await open_session(store))).lease if act is Act.RELEASE else lease

    answers = [await restart(store, Lease(lease.task, now.epoch, now.nonce + 1)), await restart(store, lease)]

    assert isinstance(answers[0], Fenced)
    assert isinstance(answers[1], Settled)  # it was settled before, and that is the answer

    assert await names_of(store, lease.task) == ["a"]
    assert await payload_of(store, lease.task) == given


async def test_a_restart_of_a_task_that_was_asked_to_stop_cancels_it(store: Store) -> None:
    lease = await running(store)
    given = await payload_of(store, lease.task)
    await record(store, step(lease, "a"))
    await store.control.cancel([lease.task])

    answer = await restart(store, lease)

    assert isinstance(answer, Settled)
    assert answer.state is State.CANCELLED
    assert await names_of(store, lease.task) == ["a"]
    assert await payload_of(store, lease.task) == given
    assert (await steps_of(store, lease.task)).rounds == ()


async def test_a_task_of_a_job_is_not_restarted(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"first": (), "second": ("first",)}))
    lease = (await claim_keys(store, session))["first"].lease

    answer = await restart(store, lease)

    assert isinstance(answer, Conflict)
    assert "job" in answer.message
    assert await state_of(store, job.tasks["first"]) is State.RUNNING
    await settle(store, lease, Act.COMPLETE)
    assert await state_of(store, job.tasks["second"]) is State.QUEUED


async def test_attempts_failures_and_the_bound_of_records_count_anew(store: Store) -> None:
    limits = RecordLimits(records=2)
    lease = await running(store)
    await store.durable.record([step(lease, "a"), step(lease, "b")], limits=limits)
    await settle(store, lease, Act.BACK_OFF)
    lease = (await claim_one(store, await open_session(store))).lease

    await restart(store, lease)

    again = (await claim_one(store, await open_session(store))).lease
    (view,) = await store.queries.get([lease.task])
    assert view is not None
    assert (view.attempt, view.failures, view.crashes) == (1, 0, 0)
    answers = await store.durable.record([step(again, "a"), step(again, "b"), step(again, "c")], limits=limits)
    assert [type(each).__name__ for each in answers] == ["Record", "Record", "QuotaExceeded"]


async def test_signals_that_no_wait_has_taken_are_for_the_next_round(store: Store) -> None:
    lease = await running(store)
    await signal(store, lease.task, "approved", 1, id="one")
    await signal(store, lease.task, "approved", 2, id="two")
    (taken,) = await answered(store, lease, APPROVED)

    await restart(store, lease)

    again = (await claim_one(store, await open_session(store))).lease
    (next_one,) = await answered(store, again, APPROVED)
    assert [each and bytes(each.value) for each in (taken, next_one)] == [b"1", b"2"]
    repeated = await signal(store, lease.task, "approved", 1, id="one")
    assert isinstance(repeated, Signalled)
    assert not repeated.created


async def test_a_signal_wakes_the_next_round_and_not_by_waits_of_the_last(store: Store, clock: ManualClock) -> None:
    lease = await running(store)
    await park(store, lease, Wait(kind=WaitKind.SIGNAL, name="approved", delay_ms=1000))
    clock.advance(2)
    lease = (await claim_one(store, await open_session(store))).lease
    (record_,) = await answered(store, lease, Wait(kind=WaitKind.SIGNAL, name="approved", delay_ms=1000))
    assert record_ is not None
    assert record_.status is RecordStatus.TIMED_OUT

    await restart(store, lease)

    again = (await claim_one(store, await open_session(store))).lease
    await park(store, again, Wait(kind=WaitKind.SIGNAL, name="approved", delay_ms=1000))  # a deadline of its own
    sent = await signal(store, lease.task, "approved", 7)
    assert isinstance(sent, Signalled)
    assert [each.task for each in sent.woken] == [lease.task]


async def test_sleeps_of_the_next_round_begin_anew(store: Store, clock: ManualClock) -> None:
    lease = await running(store)
    await park(store, lease, sleep("nap", 1000))
    clock.advance(2)
    lease = (await claim_one(store, await open_session(store))).lease
    await restart(store, lease)

    again = (await claim_one(store, await open_session(store))).lease
    parked_again = await wait(store, again, sleep("nap", 1000))

    assert isinstance(parked_again, Settled)
    assert parked_again.hint is not None
    assert parked_again.hint.due_at == clock.now() + 1000


@pytest.mark.parametrize("on_end", list(OnEnd))
async def test_live_children_of_the_round_are_cancelled_unless_they_are_left_alone(store: Store, on_end: OnEnd) -> None:
    found = await family(store, 3, on_end=on_end)
    first = await claim_child(store, found)

    await restart(store, found.lease)
    await store.children.work_notes()

    states = [await state_of(store, child) for child in found.children]
    (running_child,) = await store.lease_states([first.lease])
    assert running_child is not None
    if on_end is OnEnd.CANCEL:
        assert running_child.cancel_requested
        assert sorted(states) == [State.RUNNING, State.CANCELLED, State.CANCELLED]
    else:
        assert not running_child.cancel_requested
        assert sorted(states) == [State.QUEUED, State.QUEUED, State.RUNNING]
    assert (await store.children.work_notes()).changed == ()


async def test_a_call_of_the_next_round_has_a_child_of_its_own(store: Store) -> None:
    found = await parked(store, wait=CALL)
    child = await claim_child(store, found)
    await settle(store, child.lease, Act.COMPLETE, result=Raw(b"1"))
    lease = (await claim_parent(store, found)).lease
    await answered(store, lease, CALL)

    await restart(store, lease)

    again = (await claim_parent(store, found)).lease
    second = await start(store, children_of(again))
    assert second.ids != found.children
    await park(store, again, CALL)
    other = await claim_child(store, found)
    settled = await settle(store, other.lease, Act.COMPLETE, result=Raw(b"2"))
    assert [hint.task for hint in settled.effects.released] == [found.parent]
    again = (await claim_parent(store, found)).lease
    (outcome,) = await answered(store, again, CALL)
    assert outcome is not None
    assert bytes(outcome.value) == b"2"
    past = await store.children.links(found.parent, after=None, limit=9, round=1)
    now = await store.children.links(found.parent, after=None, limit=9)
    assert not isinstance(past, NotFound)
    assert not isinstance(now, NotFound)
    assert ([link.child for link in past.links], [link.child for link in now.links]) == (
        list(found.children), list(second.ids),
    )  # fmt: skip


async def test_the_end_of_a_child_of_an_earlier_round_wakes_nothing(store: Store) -> None:
    found = await family(store, 1, on_end=OnEnd.ABANDON)
    child = await claim_child(store, found)
    await restart(store, found.lease)
    again = (await claim_parent(store, found)).lease
    await start(store, children_of(again))
    await park(store, again, CALL)

    settled = await settle(store, child.lease, Act.COMPLETE, result=Raw(b"1"))

    assert settled.effects.released == ()
    assert await claim(store, found.session, PARENT) == []


async def test_a_child_that_restarts_answers_its_parent_when_its_last_round_ends(store: Store) -> None:
    found = await parked(store, wait=CALL)
    child = await claim_child(store, found)

    restarted = await restart(store, child.lease)

    assert isinstance(restarted, Settled)
    assert restarted.effects.released == ()
    assert await claim(store, found.session, PARENT) == []
    last = await claim_child(store, found)
    settled = await settle(store, last.lease, Act.COMPLETE, result=Raw(b'"last"'))
    assert [hint.task for hint in settled.effects.released] == [found.parent]
    (outcome,) = await answered(store, (await claim_parent(store, found)).lease, CALL)
    assert outcome is not None
    assert bytes(outcome.value) == b'"last"'


async def test_an_operators_retry_runs_the_last_round_again(store: Store) -> None:
    found = await family(store, 1)
    await restart(store, found.lease)
    await store.children.work_notes()
    lease = (await claim_parent(store, found)).lease
    await record(store, step(lease, "b"))
    await settle(store, lease, Act.FAIL)

    await store.control.retry([found.parent])
    await store.children.work_notes()

    again = await claim_parent(store, found)
    assert bytes(again.payload) == b'{"n":2}'
    assert await names_of(store, found.parent) == ["b"]
    assert await state_of(store, found.children[0]) is State.CANCELLED  # of the round before: not brought back
    assert await claim(store, found.session, CHILD) == []


async def test_only_the_last_rounds_are_kept(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    session = await open_session(store)
    for number in range(KEPT_ROUNDS + 3):
        lease = (await claim_one(store, session)).lease
        await record(store, step(lease, "a", number))
        await signal(store, task, "approved", number, id=f"s{number}")
        await answered(store, lease, APPROVED)
        await restart(store, lease)
        clock.advance(1)

    view = await steps_of(store, task)
    assert [each.round for each in view.rounds] == list(range(4, KEPT_ROUNDS + 4))
    assert isinstance(await store.durable.steps(task, after=0, limit=9, round=3), NotFound)
    assert len(await store.queries.attempts(task)) == KEPT_ROUNDS


async def restart_with_signals(store: Store, clock: ManualClock, task: TaskId, *numbers: int) -> None:
    """Restart a task that takes a signal in each of its rounds, a second apart."""
    session = await open_session(store)
    for number in numbers:
        await signal(store, task, "approved", id=f"s{number}")
        lease = (await claim_one(store, session)).lease
        await answered(store, lease, APPROVED)
        await restart(store, lease)
        clock.advance(1)


async def known_signals(store: Store, task: TaskId, *numbers: int) -> list[bool]:
    """Repeat signals, and return which of them the store knows."""
    answers = [await signal(store, task, "approved", id=f"s{number}") for number in numbers]
    return [isinstance(answer, Signalled) and not answer.created for answer in answers]


async def test_a_signal_that_is_repeated_is_known_however_many_rounds_ended_meanwhile(
    store: Store, clock: ManualClock
) -> None:
    task = await submit(store)
    await restart_with_signals(store, clock, task, *range(KEPT_ROUNDS + 3))

    assert await known_signals(store, task, 0, 22) == [True, True]


async def test_a_signal_of_a_forgotten_round_is_forgotten_at_a_restart_a_day_later(
    store: Store, clock: ManualClock
) -> None:
    task = await submit(store)
    await restart_with_signals(store, clock, task, *range(3))
    clock.advance(SIGNAL_REPEATED_MS / 1000)
    await restart_with_signals(store, clock, task, *range(3, KEPT_ROUNDS + 2))

    # The first two rounds are forgotten, and it is a day since they took their signals; the third is kept.
    assert await known_signals(store, task, 0, 1, 2, 3) == [False, False, True, True]


async def test_of_the_signals_of_forgotten_rounds_so_many_are_kept(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.stores.parts.rounds.KEPT_SIGNALS", KEPT_ROUNDS + 2)
    task = await submit(store)
    await restart_with_signals(store, clock, task, *range(KEPT_ROUNDS + 5))

    assert await known_signals(store, task, 0, 1, 2, 3, 4) == [False, False, False, True, True]


async def test_rounds_go_with_their_task(store: Store, clock: ManualClock) -> None:
    found = await family(store, 1, on_end=OnEnd.ABANDON)
    await restart(store, found.lease)
    lease = (await claim_parent(store, found)).lease
    await settle(store, lease, Act.COMPLETE)
    await store.children.work_notes()
    child = await claim_child(store, found)
    clock.advance(DAY / 1000)

    assert await store.prune(ended_before=clock.now(), limit=10) == 1
    assert isinstance(await store.durable.steps(found.parent, after=0, limit=9, round=1), NotFound)
    await settle(store, child.lease, Act.COMPLETE)
    clock.advance(DAY / 1000)
    assert await store.prune(ended_before=clock.now(), limit=10) == 1


async def test_a_child_of_an_earlier_round_is_pruned_by_its_own_age(store: Store, clock: ManualClock) -> None:
    found = await family(store, 1)
    await restart(store, found.lease)
    await store.children.work_notes()
    clock.advance(DAY / 1000)

    assert await store.prune(ended_before=clock.now(), limit=10) == 1

    assert await state_of(store, found.parent) is State.QUEUED
