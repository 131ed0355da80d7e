"""Children are started once, their ends reach their parent, and the parent's end reaches them."""

import pytest
from msgspec import Raw

from drumline.core.children import FirstOutcome, GroupCount, OnEnd
from drumline.core.clock import ManualClock
from drumline.core.codec import decode
from drumline.core.durable import RecordKind, RecordStatus, Wait, WaitKind
from drumline.core.errors import Fenced, Invalid
from drumline.core.mapping import ITEMS_KEY, NodeItems
from drumline.core.state import Act, State
from drumline.ports.jobs import ChangedJob
from drumline.ports.store import Settled, Settlement, Store
from tests.child_factories import (
    CALL,
    CHILD,
    FIRST,
    GROUP,
    PARENT,
    children_of,
    claim_child,
    claim_parent,
    family,
    parked,
    start,
)
from tests.durable_factories import answered, names_of, park, record, step, steps_of, wait
from tests.factories import claim, claim_one, open_session, settle, state_of, submit
from tests.job_factories import claim_keys, job_of, submit_job

DAY = 86_400_000


async def test_children_are_stored_with_the_links_to_them(store: Store) -> None:
    found = await family(store, 3)

    page = await store.children.links(found.parent, after=None, limit=2)
    assert not isinstance(page, Exception)
    rest = await store.children.links(found.parent, after=found.children[1], limit=2)
    assert not isinstance(rest, Exception)

    assert [link.child for link in (*page.links, *rest.links)] == list(found.children)
    assert page.has_more
    assert not rest.has_more
    assert [await state_of(store, child) for child in found.children] == [State.QUEUED] * 3


async def test_children_that_are_there_already_stay(store: Store) -> None:
    found = await family(store, 2)

    again = await start(store, children_of(found.lease, 3))

    assert again.ids[:2] == found.children
    assert again.count == 3
    assert [hint.task for hint in again.new] == [again.ids[2]]


@pytest.mark.parametrize("act", [Act.COMPLETE, Act.BACK_OFF, Act.RELEASE, Act.FAIL])
async def test_a_lease_that_is_over_starts_no_children(store: Store, act: Act) -> None:
    parent = await submit(store, PARENT)
    session = await open_session(store, PARENT, CHILD)
    lease = (await claim_one(store, session, PARENT)).lease
    await settle(store, lease, act)

    answer = await store.children.start(children_of(lease))

    assert isinstance(answer, Fenced)
    assert await claim(store, session, CHILD) == []
    assert (await state_of(store, parent)) is not State.RUNNING


async def test_the_end_of_a_child_wakes_its_parent_which_takes_the_result(store: Store) -> None:
    found = await parked(store, wait=CALL)
    assert await claim(store, found.session, PARENT) == []
    child = await claim_child(store, found)

    settled = await settle(store, child.lease, Act.COMPLETE, result=Raw(b'{"x":1}'))

    assert [hint.task for hint in settled.effects.released] == [found.parent]
    again = await claim_parent(store, found)
    (record,) = await answered(store, again.lease, CALL)
    assert record is not None
    assert (record.kind, record.status, record.value) == (RecordKind.CALL, RecordStatus.DONE, Raw(b'{"x":1}'))
    assert again.attempt == 1


async def test_a_child_that_ended_before_the_parent_waits_answers_at_once(store: Store) -> None:
    found = await family(store)
    await settle(store, (await claim_child(store, found)).lease, Act.COMPLETE, result=Raw(b"7"))

    (record,) = await answered(store, found.lease, CALL)

    assert record is not None
    assert record.value == Raw(b"7")


@pytest.mark.parametrize(("act", "state"), [(Act.FAIL, State.FAILED), (Act.STOP, State.CANCELLED)])
async def test_a_child_that_ended_badly_is_a_failed_record(store: Store, act: Act, state: State) -> None:
    found = await parked(store, wait=CALL)
    await settle(store, (await claim_child(store, found)).lease, act)

    (record,) = await answered(store, (await claim_parent(store, found)).lease, CALL)

    assert record is not None
    assert record.status is RecordStatus.FAILED
    assert decode(bytes(record.value), dict)["child"] == found.children[0]
    assert decode(bytes(record.value), dict)["state"] == int(state)


async def test_a_group_is_answered_by_its_last_child_only(store: Store) -> None:
    found = await parked(store, 3)
    for number in range(3):
        assert await claim(store, found.session, PARENT) == []
        child = await claim_child(store, found)
        await settle(store, child.lease, Act.FAIL if number == 1 else Act.COMPLETE)

    again = await claim_parent(store, found)
    (record,) = await answered(store, again.lease, GROUP)

    assert record is not None
    assert record.status is RecordStatus.FAILED
    assert decode(bytes(record.value), GroupCount) == GroupCount(3, 1)
    page = await store.children.outcomes(again.lease, "c", "", first=1, limit=100)
    assert not isinstance(page, Fenced)
    assert [each.place for each in page.outcomes] == [1, 2]


async def test_ends_of_many_children_in_one_list_count_each(store: Store) -> None:
    found = await parked(store, 4)
    claimed = await claim(store, found.session, CHILD)
    assert len(claimed) == 4

    await store.settle([Settlement(lease=each.lease, act=Act.COMPLETE) for each in claimed])

    (record,) = await answered(store, (await claim_parent(store, found)).lease, GROUP)
    assert record is not None
    assert decode(bytes(record.value), GroupCount) == GroupCount(4)


async def test_the_first_child_that_completes_answers_and_the_others_are_cancelled(store: Store) -> None:
    found = await parked(store, 3, wait=FIRST)
    one, two = await claim(store, found.session, CHILD, limit=2)
    await settle(store, one.lease, Act.FAIL)
    again = await claim_parent(store, found)
    await park(store, again.lease, FIRST)
    await settle(store, two.lease, Act.COMPLETE, result=Raw(b'"won"'))

    again = await claim_parent(store, found)
    (record,) = await answered(store, again.lease, FIRST)
    await store.children.work_notes()

    assert record is not None
    place = found.children.index(two.lease.task)
    assert decode(bytes(record.value), FirstOutcome) == FirstOutcome(place, two.lease.task)
    page = await store.children.outcomes(again.lease, "c", "", first=place, limit=1)
    assert not isinstance(page, Fenced)
    assert page.outcomes[0].result == Raw(b'"won"')
    left = next(child for child in found.children if child not in {one.lease.task, two.lease.task})
    assert await state_of(store, left) is State.CANCELLED


async def test_a_window_is_answered_when_few_enough_are_left(store: Store) -> None:
    window = Wait(kind=WaitKind.WINDOW, name="c", pending=1)
    found = await parked(store, 3, wait=window)
    one, two, _ = await claim(store, found.session, CHILD)
    await settle(store, one.lease, Act.COMPLETE)
    assert await claim(store, found.session, PARENT) == []
    await settle(store, two.lease, Act.COMPLETE)

    again = await claim_parent(store, found)

    assert await answered(store, again.lease, window) == [None]
    assert await names_of(store, found.parent) == []


async def test_a_wait_for_children_that_were_never_started_is_refused(store: Store) -> None:
    await submit(store, PARENT)
    lease = (await claim_one(store, await open_session(store, PARENT), PARENT)).lease

    with pytest.raises(Invalid, match="'c'"):
        await wait(store, lease, CALL)


@pytest.mark.parametrize("act", [Act.COMPLETE, Act.FAIL, Act.STOP])
async def test_the_end_of_a_parent_cancels_the_children_that_have_not_ended(store: Store, act: Act) -> None:
    found = await family(store, 3)
    done, running = await claim(store, found.session, CHILD, limit=2)
    await settle(store, done.lease, Act.COMPLETE)

    await settle(store, found.lease, act)
    assert (await store.children.work_notes()).is_done

    assert await state_of(store, done.lease.task) is State.COMPLETED
    queued = next(c for c in found.children if c not in {done.lease.task, running.lease.task})
    assert await state_of(store, queued) is State.CANCELLED
    (leased,) = await store.lease_states([running.lease])
    assert leased is not None
    assert leased.cancel_requested
    assert (await store.children.work_notes()).changed == ()


async def test_a_parent_that_is_cancelled_while_it_waits_cancels_its_children(store: Store) -> None:
    found = await parked(store, 2)

    await store.control.cancel([found.parent])
    done = await store.children.work_notes()

    assert {each.task for each in done.changed} == set(found.children)
    assert [await state_of(store, child) for child in found.children] == [State.CANCELLED] * 2


async def test_children_are_cancelled_down_the_tree(store: Store) -> None:
    found = await family(store)
    child = await claim_child(store, found)
    grandchild = (await start(store, children_of(child.lease))).ids[0]
    await park(store, child.lease, CALL)
    await settle(store, found.lease, Act.FAIL)

    while (await store.children.work_notes()).changed:
        pass

    assert await state_of(store, child.lease.task) is State.CANCELLED
    assert await state_of(store, grandchild) is State.CANCELLED


async def test_children_that_are_to_be_abandoned_outlive_their_parent(store: Store) -> None:
    found = await family(store, 1, on_end=OnEnd.ABANDON)

    await settle(store, found.lease, Act.COMPLETE)
    await store.children.work_notes()

    child = await claim_child(store, found)
    assert (await settle(store, child.lease, Act.COMPLETE)).state is State.COMPLETED


async def test_a_parent_whose_worker_died_keeps_its_children_and_one_that_is_poison_does_not(store: Store) -> None:
    found = await family(store, 1)
    await store.sessions.reap([(found.session, 0)], poison_after=9)
    await store.children.work_notes()
    assert await state_of(store, found.children[0]) is State.QUEUED

    session = await open_session(store, PARENT, CHILD)
    await claim_one(store, session, PARENT)
    reaped = await store.sessions.reap([(session, 0)], poison_after=1)
    await store.children.work_notes()

    assert reaped.poisoned == (found.parent,)
    assert await state_of(store, found.children[0]) is State.CANCELLED


async def test_a_child_that_is_reaped_as_poison_wakes_its_parent(store: Store) -> None:
    found = await parked(store, wait=CALL)
    session = await open_session(store, CHILD)
    await claim_one(store, session, CHILD)

    reaped = await store.sessions.reap([(session, 0)], poison_after=1)

    assert [hint.task for hint in reaped.effects.released] == [found.parent]
    assert (await claim_parent(store, found)).lease.task == found.parent


async def test_a_child_that_an_operator_cancels_wakes_its_parent(store: Store) -> None:
    found = await parked(store, wait=CALL)

    (changed,) = await store.control.cancel([found.children[0]])

    assert not isinstance(changed, Exception)
    assert [hint.task for hint in changed.effects.released] == [found.parent]


async def test_the_retry_of_a_child_counts_until_the_parent_has_taken_its_outcome(store: Store) -> None:
    found = await parked(store, 2)
    for act in (Act.FAIL, Act.FAIL):
        await settle(store, (await claim_child(store, found)).lease, act)
    await store.control.retry([found.children[0]])

    again = await claim_parent(store, found)
    await park(store, again.lease, GROUP)
    await settle(store, (await claim_child(store, found)).lease, Act.COMPLETE)

    again = await claim_parent(store, found)
    (record,) = await answered(store, again.lease, GROUP)
    assert record is not None
    assert decode(bytes(record.value), GroupCount) == GroupCount(2, 1)


async def test_the_retry_of_a_child_whose_outcome_was_taken_changes_nothing_for_the_parent(store: Store) -> None:
    found = await parked(store, 1)
    await settle(store, (await claim_child(store, found)).lease, Act.FAIL)
    again = await claim_parent(store, found)
    await answered(store, again.lease, GROUP)

    await store.control.retry([found.children[0]])
    await settle(store, (await claim_child(store, found)).lease, Act.COMPLETE)

    page = await store.children.outcomes(again.lease, "c", "", first=0, limit=9)
    assert not isinstance(page, Fenced)
    assert [each.state for each in page.outcomes] == [State.FAILED]


async def test_the_retry_of_a_parent_forgets_bad_outcomes_and_retries_those_children(store: Store) -> None:
    found = await parked(store, 2)
    for act in (Act.FAIL, Act.COMPLETE):
        await settle(store, (await claim_child(store, found)).lease, act)
    again = await claim_parent(store, found)
    await answered(store, again.lease, GROUP)
    await settle(store, again.lease, Act.FAIL)
    await store.children.work_notes()

    await store.control.retry([found.parent])
    again = await claim_parent(store, found)
    await park(store, again.lease, GROUP)
    done = await store.children.work_notes()
    await settle(store, (await claim_child(store, found)).lease, Act.COMPLETE)

    assert [each.state for each in done.changed] == [State.QUEUED]
    (record,) = await answered(store, (await claim_parent(store, found)).lease, GROUP)
    assert record is not None
    assert record.status is RecordStatus.DONE
    assert decode(bytes(record.value), GroupCount) == GroupCount(2)


async def test_the_retry_of_a_parent_withdraws_the_cancel_of_its_children(store: Store) -> None:
    found = await family(store)
    child = await claim_child(store, found)
    await settle(store, found.lease, Act.FAIL)
    await store.children.work_notes()

    await store.control.retry([found.parent])

    (leased,) = await store.lease_states([child.lease])
    assert leased is not None
    assert not leased.cancel_requested


async def test_an_old_note_does_not_cancel_the_children_of_a_parent_that_was_retried(store: Store) -> None:
    found = await family(store)
    await settle(store, found.lease, Act.FAIL)
    await store.control.retry([found.parent])

    await store.children.work_notes()

    assert await state_of(store, found.children[0]) is State.QUEUED


async def test_a_revival_that_was_not_done_is_void_when_the_parent_has_ended_again(store: Store) -> None:
    found = await parked(store)
    await settle(store, (await claim_child(store, found)).lease, Act.FAIL)
    again = await claim_parent(store, found)
    await settle(store, again.lease, Act.FAIL)
    await store.children.work_notes()
    await store.control.retry([found.parent])
    await store.control.cancel([found.parent])

    await store.children.work_notes()

    assert await state_of(store, found.children[0]) is State.FAILED
    assert (await store.children.work_notes()).changed == ()


async def test_no_child_is_pruned_before_its_parent(store: Store, clock: ManualClock) -> None:
    found = await parked(store)
    await settle(store, (await claim_child(store, found)).lease, Act.COMPLETE)
    clock.advance(DAY / 1000)
    assert await store.prune(ended_before=clock.now(), limit=100) == 0
    again = await claim_parent(store, found)
    await settle(store, again.lease, Act.COMPLETE)
    await store.children.work_notes()
    clock.advance(DAY / 1000)

    pruned = [await store.prune(ended_before=clock.now(), limit=100) for _ in range(3)]

    assert sum(pruned) == 2
    assert pruned[0] == 1


async def test_what_is_waited_for_says_how_many_children_are_left(store: Store) -> None:
    found = await parked(store, 3)
    await settle(store, (await claim_child(store, found)).lease, Act.COMPLETE)

    (waits,) = (await steps_of(store, found.parent)).waits

    assert (waits.kind, waits.name, waits.pending) == (WaitKind.GROUP, "c", 2)


async def test_a_parent_that_is_asked_to_stop_ends_instead_of_waiting(store: Store) -> None:
    found = await family(store)
    await store.control.cancel([found.parent])

    answer = await wait(store, found.lease, GROUP)
    await store.children.work_notes()

    assert isinstance(answer, Settled)
    assert answer.state is State.CANCELLED
    assert await state_of(store, found.children[0]) is State.CANCELLED


async def test_a_parent_in_a_job_that_is_cancelled_cancels_its_children(store: Store) -> None:
    job = await submit_job(store, job_of({"x": ()}))
    session = await open_session(store, "work", CHILD)
    lease = (await claim_keys(store, session))["x"].lease
    (child,) = (await start(store, children_of(lease))).ids
    await park(store, lease, CALL)

    await store.jobs.cancel_jobs([job.id])
    await store.children.work_notes()

    assert await state_of(store, lease.task) is State.CANCELLED
    assert await state_of(store, child) is State.CANCELLED


async def test_a_parent_whose_settlement_names_its_job_cancels_its_children_when_it_fails(store: Store) -> None:
    job = await submit_job(store, job_of({"x": ()}))
    session = await open_session(store, "work", CHILD)
    lease = (await claim_keys(store, session))["x"].lease
    (child,) = (await start(store, children_of(lease))).ids

    await settle(store, lease, Act.FAIL, job=job.id)
    await store.children.work_notes()

    assert await state_of(store, child) is State.CANCELLED


async def test_a_parent_in_a_job_is_woken_by_its_child_and_completes_its_job(store: Store) -> None:
    job = await submit_job(store, job_of({"x": (), "y": ("x",)}))
    session = await open_session(store, "work", CHILD)
    lease = (await claim_keys(store, session))["x"].lease
    await start(store, children_of(lease))
    await park(store, lease, CALL)
    await settle(store, (await claim_one(store, session, CHILD)).lease, Act.COMPLETE)

    again = (await claim_keys(store, session))["x"]
    await answered(store, again.lease, CALL)
    await settle(store, again.lease, Act.COMPLETE)

    assert list(await claim_keys(store, session)) == ["y"]
    (view,) = await store.jobs.get_jobs([job.id])
    assert view is not None


async def test_the_graph_of_a_job_says_how_far_a_map_is(store: Store) -> None:
    job = await submit_job(store, job_of({"a": (), "map": ("a",)}, task={"name": "map"}))
    session = await open_session(store, "map", CHILD)

    async def items() -> list[NodeItems | None]:
        return [node.items for node in await store.jobs.nodes(job.id)]

    assert await items() == [None, None]
    await settle(store, (await claim_one(store, session, "map")).lease, Act.COMPLETE)
    lease = (await claim_one(store, session, "map")).lease
    await record(store, step(lease, "c", 5, key=ITEMS_KEY))
    await start(store, children_of(lease, 3))
    assert await items() == [None, NodeItems(total=5, ended=0, failed=0)]
    await park(store, lease, GROUP)
    await settle(store, (await claim_one(store, session, CHILD)).lease, Act.COMPLETE)
    await settle(store, (await claim_one(store, session, CHILD)).lease, Act.FAIL)

    assert await items() == [None, NodeItems(total=5, ended=2, failed=1)]


async def test_a_resumed_job_runs_the_bad_children_of_its_tasks_again_and_no_others(store: Store) -> None:
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    session = await open_session(store, "work", CHILD)
    parent = await claim_one(store, session, "work")
    await start(store, children_of(parent.lease, 3))
    await park(store, parent.lease, GROUP)
    ended = []
    for act in (Act.COMPLETE, Act.FAIL, Act.COMPLETE):
        child = await claim_one(store, session, CHILD)
        await settle(store, child.lease, act)
        ended.append(child.lease.task)
    lease = (await claim_one(store, session, "work")).lease
    (taken,) = await answered(store, lease, GROUP)
    assert taken is not None
    assert taken.status is RecordStatus.FAILED
    await settle(store, lease, Act.FAIL)

    (resumed,) = await store.jobs.resume_jobs([job.id])
    assert isinstance(resumed, ChangedJob)
    await store.children.work_notes()

    again = await claim_one(store, session, CHILD)
    assert again.lease.task == ended[1]
    assert await claim(store, session, CHILD) == []
    lease = (await claim_one(store, session, "work")).lease
    await park(store, lease, GROUP)
    await settle(store, again.lease, Act.COMPLETE)
    lease = (await claim_one(store, session, "work")).lease
    (taken,) = await answered(store, lease, GROUP)
    assert taken is not None
    assert taken.status is RecordStatus.DONE
