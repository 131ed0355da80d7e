"""Bulk operations: the set is frozen when asked for, every task is dealt with once, at the rate that was asked for."""

import asyncio
from typing import Any

import pytest

from drumline.core.bulk import (
    BulkAct,
    BulkFilter,
    BulkId,
    BulkPlan,
    BulkState,
    BulkView,
    ItemOutcome,
    NewBulk,
)
from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict, Invalid, NotFound
from drumline.core.ids import TaskId
from drumline.core.job import JobStatus
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.store import Settlement, Store
from tests.factories import OOPS, claim, claim_one, new_id, open_session, settle, state_of, submit
from tests.job_factories import ids, run_all, states_in, status_of_job, submit_job

ALL = DeadLetterFilter()
MOST = 10_000


async def fail(
    store: Store, count: int = 1, name: str = "work", error: ErrorInfo = OOPS, **options: Any
) -> list[TaskId]:
    """Let tasks fail for good, one after the other."""
    ada = await open_session(store, name)
    tasks = []
    for _ in range(count):
        tasks.append(await submit(store, name, **options))
        await settle(store, (await claim_one(store, ada, name)).lease, Act.FAIL, error=error)
    return tasks


def bulk(act: BulkAct = BulkAct.RETRY, *, rate: float | None = None, tenant: str | None = None, **plan: Any) -> NewBulk:
    return NewBulk(id=BulkId(new_id()), tenant=tenant, act=act, rate=rate, plan=BulkPlan(**plan))


async def begin(store: Store, new: NewBulk, which: DeadLetterFilter = ALL) -> BulkView:
    return await store.bulks.begin_bulk(new, which=which, most=MOST)


async def run(store: Store, id_: BulkId, limit: int = 100) -> BulkView:
    """Carry an operation out to its end."""
    while (advanced := await store.bulks.advance_bulk(id_, limit=limit)) is not None and advanced.view.left:
        assert advanced.changed or advanced.view.skipped or advanced.view.failed
    return await store.bulks.get_bulk(id_)


def numbers(view: BulkView) -> tuple[int, int, int, int]:
    return view.total, view.done, view.skipped, view.failed


async def test_every_task_of_the_set_is_dealt_with(store: Store, clock: ManualClock) -> None:
    tasks = await fail(store, 5)

    began = await begin(store, bulk(filter=BulkFilter(queue="default"), reason="the host is back"))
    ended = await run(store, began.id, limit=2)

    assert (began.state, numbers(began), began.plan.reason) == (BulkState.RUNNING, (5, 0, 0, 0), "the host is back")
    assert (ended.state, numbers(ended), ended.finished_at) == (BulkState.COMPLETED, (5, 5, 0, 0), clock.now())
    assert [await state_of(store, task) for task in tasks] == [State.QUEUED] * 5
    assert await store.dead_letters.dead_letters(ALL, limit=10) == []


async def test_what_is_queued_again_is_told_so_that_it_can_be_offered(store: Store) -> None:
    tasks = await fail(store, 3)
    began = await begin(store, bulk())

    advanced = await store.bulks.advance_bulk(began.id, limit=100)

    assert advanced is not None
    assert {changed.hint.task for changed in advanced.changed if changed.hint} == set(tasks)


async def test_what_fails_later_is_not_swept_in(store: Store) -> None:
    await fail(store, 2)
    began = await begin(store, bulk(BulkAct.DISCARD))
    (late,) = await fail(store)

    ended = await run(store, began.id)

    assert numbers(ended) == (2, 2, 0, 0)
    assert [letter.task for letter in await store.dead_letters.dead_letters(ALL, limit=10)] == [late]


@pytest.mark.parametrize("act", [BulkAct.RETRY, BulkAct.DISCARD])
async def test_a_task_that_was_retried_and_failed_again_meanwhile_is_left_alone(store: Store, act: BulkAct) -> None:
    task, other = await fail(store, 2)
    began = await begin(store, bulk(act))
    await store.control.retry([task])
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.FAIL)

    ended = await run(store, began.id)

    assert numbers(ended) == (2, 1, 1, 0)
    assert [letter.task for letter in await store.dead_letters.dead_letters(ALL, limit=10)] == [task]
    assert await state_of(store, other) is (State.QUEUED if act is BulkAct.RETRY else State.FAILED)


async def test_one_that_was_discarded_meanwhile_is_not_retried(store: Store) -> None:
    task, _ = await fail(store, 2)
    began = await begin(store, bulk())
    await store.dead_letters.discard([task])

    ended = await run(store, began.id)

    assert numbers(ended) == (2, 1, 1, 0)
    assert await state_of(store, task) is State.FAILED
    (item,) = await store.bulks.bulk_items(began.id, outcomes=frozenset({ItemOutcome.SKIPPED}), limit=10)
    assert (item.task, item.outcome) == (task, ItemOutcome.SKIPPED)
    assert item.error
    assert "resolved" in item.error


async def test_only_what_the_filter_finds_is_taken(store: Store) -> None:
    await fail(store, 2)
    mine = await fail(store, 2, error=ErrorInfo("KeyError", "x"), tags=("vip",))
    await fail(store, 1, error=ErrorInfo("KeyError", "x"))

    began = await begin(store, bulk(), DeadLetterFilter(kind="KeyError", tag="vip"))
    await run(store, began.id)

    assert began.total == 2
    assert [await state_of(store, task) for task in mine] == [State.QUEUED] * 2
    assert len(await store.dead_letters.dead_letters(ALL, limit=10)) == 3


async def test_the_oldest_come_first(store: Store, clock: ManualClock) -> None:
    tasks = []
    for _ in range(4):
        tasks += await fail(store)
        clock.advance(1)

    began = await begin(store, bulk())

    assert [item.task for item in await store.bulks.bulk_items(began.id, limit=10)] == tasks


async def test_a_set_that_is_too_large_is_refused_whole(store: Store) -> None:
    await fail(store, 3)
    new = bulk()

    with pytest.raises(Invalid) as caught:
        await store.bulks.begin_bulk(new, which=ALL, most=2)

    assert caught.value.field == "filter"
    with pytest.raises(NotFound):
        await store.bulks.get_bulk(new.id)
    assert await store.bulks.bulk_items(new.id, limit=10) == []


async def test_an_empty_set_has_ended_at_once(store: Store) -> None:
    began = await begin(store, bulk())

    assert (began.state, began.total) == (BulkState.COMPLETED, 0)
    assert began.finished_at == began.created_at
    assert await store.bulks.advance_bulk(began.id, limit=10) is None


async def test_tasks_can_be_named_one_by_one(store: Store) -> None:
    failed = await fail(store, 2)
    waiting, gone = await submit(store, delay=60), new_id()

    began = await store.bulks.begin_bulk(bulk(), tasks=[*failed, waiting, gone], most=MOST)
    ended = await run(store, began.id)

    assert numbers(ended) == (4, 2, 1, 1)
    outcomes = {item.task: item.outcome for item in await store.bulks.bulk_items(began.id, limit=10)}
    assert outcomes == {
        failed[0]: ItemOutcome.DONE,
        failed[1]: ItemOutcome.DONE,
        waiting: ItemOutcome.SKIPPED,
        gone: ItemOutcome.FAILED,
    }


async def test_waiting_tasks_are_cancelled_and_ended_ones_skipped(store: Store) -> None:
    done = await submit(store)
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.COMPLETE)
    waiting = [await submit(store) for _ in range(3)]

    began = await store.bulks.begin_bulk(bulk(BulkAct.CANCEL), tasks=[done, *waiting], most=MOST)
    ended = await run(store, began.id)

    assert numbers(ended) == (4, 3, 1, 0)
    assert {await state_of(store, task) for task in waiting} == {State.CANCELLED}


@pytest.mark.parametrize(("force", "state"), [(False, State.RUNNING), (True, State.CANCELLED)])
async def test_running_tasks_are_cancelled_as_asked(store: Store, force: bool, state: State) -> None:
    task = await submit(store)
    await claim_one(store, await open_session(store))

    began = await store.bulks.begin_bulk(bulk(BulkAct.CANCEL, force=force), tasks=[task], most=MOST)
    await run(store, began.id)

    assert await state_of(store, task) is state


async def test_waiting_tasks_are_rescheduled(store: Store, clock: ManualClock) -> None:
    tasks = [await submit(store) for _ in range(3)]

    began = await store.bulks.begin_bulk(bulk(BulkAct.RESCHEDULE, delay_ms=60_000, priority=50), tasks=tasks, most=MOST)
    await run(store, began.id)

    views = await store.queries.get(tasks)
    assert {(view.due_at, view.lane.priority) for view in views if view} == {(clock.now() + 60_000, 50)}


async def test_a_rate_is_kept_by_the_stores_clock(store: Store, clock: ManualClock) -> None:
    await fail(store, 30)
    began = await begin(store, bulk(rate=10.0))

    async def done() -> int:
        await store.bulks.advance_bulk(began.id, limit=100)
        return (await store.bulks.get_bulk(began.id)).done

    assert await done() == 1, "the first one at once"
    assert await done() == 1
    clock.advance(0.5)
    assert await done() == 6
    clock.advance(0.05)
    assert await done() == 6
    clock.advance(0.05)
    assert await done() == 7
    clock.advance(3600)
    assert await done() == 17, "an outage is not made up for at once: a second's worth is the most"
    clock.advance(-3600)
    assert await done() == 17, "a clock that is set back stops nothing for long"
    clock.advance(1)
    assert await done() == 27


async def test_a_slow_rate_lets_one_go_when_its_time_has_come(store: Store, clock: ManualClock) -> None:
    await fail(store, 3)
    began = await begin(store, bulk(rate=0.5))
    dones = []

    for _ in range(5):
        await store.bulks.advance_bulk(began.id, limit=100)
        dones.append((await store.bulks.get_bulk(began.id)).done)
        clock.advance(1)

    assert dones == [1, 1, 2, 2, 3]


async def test_an_aborted_operation_goes_no_further(store: Store, clock: ManualClock) -> None:
    tasks = await fail(store, 5)
    began = await begin(store, bulk())
    await store.bulks.advance_bulk(began.id, limit=2)

    aborted = await store.bulks.abort_bulk(began.id)

    assert (aborted.state, numbers(aborted), aborted.finished_at) == (BulkState.ABORTED, (5, 2, 0, 0), clock.now())
    assert await store.bulks.advance_bulk(began.id, limit=10) is None
    assert [await state_of(store, task) for task in tasks] == [State.QUEUED] * 2 + [State.FAILED] * 3
    outcomes = [item.outcome for item in await store.bulks.bulk_items(began.id, limit=10)]
    assert outcomes == [ItemOutcome.DONE] * 2 + [ItemOutcome.WAITING] * 3
    assert await store.bulks.running_bulks() == []


async def test_what_has_ended_cannot_be_aborted(store: Store) -> None:
    began = await begin(store, bulk())

    with pytest.raises(Conflict, match="completed"):
        await store.bulks.abort_bulk(began.id)
    with pytest.raises(NotFound):
        await store.bulks.abort_bulk(BulkId(new_id()))


async def test_many_who_carry_it_out_at_once_deal_with_each_task_once(store: Store) -> None:
    ada = await open_session(store)
    for _ in range(60):
        await submit(store)
    leases = [task.lease for task in await claim(store, ada, limit=60)]
    await store.settle([Settlement(lease=lease, act=Act.FAIL, error=OOPS) for lease in leases])
    began = await begin(store, bulk())

    steps: list[TaskId] = []

    async def carry() -> None:
        while (await store.bulks.get_bulk(began.id)).state is BulkState.RUNNING:
            advanced = await store.bulks.advance_bulk(began.id, limit=7)
            steps.extend(changed.task for changed in advanced.changed) if advanced else None

    await asyncio.gather(*(carry() for _ in range(4)))

    assert sorted(steps) == sorted(lease.task for lease in leases)
    assert numbers(await store.bulks.get_bulk(began.id)) == (60, 60, 0, 0)
    epochs = {view.epoch for view in await store.queries.get(steps) if view}
    assert epochs == {2}, "one retry each"


async def test_abort_and_advance_at_once_leave_a_count_that_is_right(store: Store) -> None:
    tasks = await fail(store, 30)  # more than all of them advance: it never completes before it is aborted
    began = await begin(store, bulk())

    await asyncio.gather(
        *(store.bulks.advance_bulk(began.id, limit=3) for _ in range(4)),
        store.bulks.abort_bulk(began.id),
        *(store.bulks.advance_bulk(began.id, limit=3) for _ in range(4)),
    )

    view = await store.bulks.get_bulk(began.id)
    states = [await state_of(store, task) for task in tasks]
    assert view.state is BulkState.ABORTED
    assert states.count(State.QUEUED) == view.done


async def test_operations_on_the_same_tasks_share_them(store: Store) -> None:
    await fail(store, 20)
    first = await begin(store, bulk(BulkAct.RETRY))
    second = await begin(store, bulk(BulkAct.DISCARD))

    async def carry(id_: BulkId) -> None:
        while (await store.bulks.get_bulk(id_)).state is BulkState.RUNNING:
            await store.bulks.advance_bulk(id_, limit=3)

    await asyncio.gather(carry(first.id), carry(second.id))

    retried, discarded = await store.bulks.get_bulk(first.id), await store.bulks.get_bulk(second.id)
    assert retried.done + discarded.done == 20
    assert retried.skipped + discarded.skipped == 20
    assert await store.dead_letters.dead_letter_groups(ALL, limit=10) == []


async def test_operations_are_listed_newest_first_to_their_tenant(store: Store) -> None:
    views = [await begin(store, bulk(tenant=tenant)) for tenant in ("default", "globex", None, "default")]

    async def listed(**wanted: Any) -> list[int]:
        found = await store.bulks.bulks(limit=10, **wanted)
        ids = [view.id for view in views]
        return [ids.index(view.id) for view in found]

    assert await listed() == [3, 2, 1, 0]
    assert await listed(tenant="default") == [3, 0]
    assert await listed(before=views[2].id) == [1, 0]
    assert await listed(states=frozenset({BulkState.RUNNING})) == []
    with pytest.raises(NotFound):
        await store.bulks.get_bulk(views[1].id, tenant="default")


async def test_an_operation_touches_only_its_tenants_tasks(store: Store) -> None:
    (theirs,) = await fail(store, tenant="globex")

    began = await store.bulks.begin_bulk(bulk(tenant="default"), tasks=[theirs], most=MOST)
    ended = await run(store, began.id)

    assert numbers(ended) == (1, 0, 0, 1)
    assert await state_of(store, theirs) is State.FAILED


async def test_refused_tasks_come_page_by_page(store: Store) -> None:
    gone = [new_id() for _ in range(5)]
    began = await store.bulks.begin_bulk(bulk(), tasks=gone, most=MOST)
    await run(store, began.id)

    refused = frozenset({ItemOutcome.FAILED, ItemOutcome.SKIPPED})
    first = await store.bulks.bulk_items(began.id, outcomes=refused, limit=3)
    rest = await store.bulks.bulk_items(began.id, outcomes=refused, limit=3, after=first[-1].seq)

    assert [item.task for item in [*first, *rest]] == gone
    assert await store.bulks.bulk_items(began.id, outcomes=frozenset({ItemOutcome.DONE}), limit=3) == []


async def test_a_survey_counts_no_further_than_asked(store: Store, clock: ManualClock) -> None:
    oldest = clock.now()
    for _ in range(4):
        await fail(store)
        clock.advance(1)

    found = await store.bulks.survey(ALL, most=100)

    assert (found.count, found.oldest_at, found.newest_at) == (4, oldest, oldest + 3000)
    assert (await store.bulks.survey(ALL, most=2)).count == 3
    assert (await store.bulks.survey(DeadLetterFilter(queue="nowhere"), most=2)).count == 0


async def test_old_operations_and_causes_are_forgotten(store: Store, clock: ManualClock) -> None:
    tasks = await fail(store, 2)
    ended = await store.bulks.begin_bulk(bulk(BulkAct.DISCARD), tasks=tasks[:1], most=MOST)
    await run(store, ended.id)
    running = await begin(store, bulk())
    clock.advance(60)

    assert await store.bulks.prune_bulks(ended_before=clock.now()) == 1

    assert [view.id for view in await store.bulks.bulks(limit=10)] == [running.id]
    assert await store.bulks.bulk_items(ended.id, limit=10) == []
    (group,) = await store.dead_letters.dead_letter_groups(ALL, limit=10)
    assert group.count == 1, "a cause that has dead letters is kept"
    await store.dead_letters.discard(tasks)
    await store.bulks.prune_bulks(ended_before=clock.now())
    await fail(store)
    (group,) = await store.dead_letters.dead_letter_groups(ALL, limit=10)
    assert group.first_at == clock.now()


async def test_tasks_of_jobs_are_retried_by_the_rules_of_their_jobs(store: Store) -> None:
    ada = await open_session(store)
    jobs = []
    for _ in range(2):
        jobs.append(await submit_job(store))
        await run_all(store, ada, lambda key: Act.FAIL if key in {"b", "c"} else Act.COMPLETE)
    (plain,) = await fail(store)
    assert {await status_of_job(store, job.id) for job in jobs} == {JobStatus.FAILED}

    began = await begin(store, bulk())
    ended = await run(store, began.id, limit=2)

    assert numbers(ended) == (5, 5, 0, 0)
    assert await state_of(store, plain) is State.QUEUED
    for job in jobs:
        states = await states_in(store, job.id)
        assert states == {"a": State.COMPLETED, "b": State.QUEUED, "c": State.QUEUED, "d": State.BLOCKED}
    while claimed := await claim(store, ada):
        await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in claimed])
    assert {await status_of_job(store, job.id) for job in jobs} == {JobStatus.COMPLETED}


async def test_a_task_of_a_job_that_failed_again_meanwhile_is_left_alone(store: Store) -> None:
    ada = await open_session(store)
    job = await submit_job(store)
    await run_all(store, ada, lambda key: Act.FAIL if key == "b" else Act.COMPLETE)
    began = await begin(store, bulk())
    await store.control.retry(ids(job, "b"))
    await run_all(store, ada, lambda _: Act.FAIL)

    ended = await run(store, began.id)

    assert numbers(ended) == (1, 0, 1, 0)
    assert (await states_in(store, job.id))["b"] is State.FAILED
