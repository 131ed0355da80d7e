"""Firing: every fire time gives one run, whoever fires; what was missed or overlaps goes by the policy."""

import asyncio

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant, ManualClock, to_datetime
from drumline.core.errors import NotFound
from drumline.core.firing import Absence
from drumline.core.firing_policy import Misfire, Overlap
from drumline.core.ids import ScheduleId, TaskId
from drumline.core.job import JobStatus
from drumline.core.limits import Limits
from drumline.core.schedule import RunKind, RunState, ScheduleState, ScheduleTarget, ScheduleView, Turn
from drumline.core.state import Act, State
from drumline.core.task import NotifyTarget, TaskRequest
from drumline.ports.schedules import Fired, NewRun, Placing, ScheduleChange
from drumline.ports.store import Store
from tests.conformance.conftest import MakeStore
from tests.factories import claim, claim_one, new_id, open_session, settle, state_of
from tests.schedule_factories import (
    MINUTE,
    START,
    add,
    fire,
    get,
    job_request,
    new_schedule,
    order,
    runs_of,
    times_of,
)


def minute(number: int) -> Instant:
    return Instant(START + number * MINUTE)


def to_minute(clock: ManualClock, number: int, seconds: float = 0.0) -> None:
    clock.advance((minute(number) - clock.now()) / 1000 + seconds)


def task_of(fired: Fired) -> TaskId:
    ((task, _),) = fired.tasks
    return task.id


async def finish(store: Store, task: TaskId) -> None:
    ada = await open_session(store)
    for held in await claim(store, ada):
        await settle(store, held.lease, Act.COMPLETE)
    assert await state_of(store, task) is State.COMPLETED


# -- on time


async def test_nothing_fires_before_its_time(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    to_minute(clock, 1, -0.001)

    fired = await fire(store)

    assert (fired.schedules, fired.runs, fired.tasks) == (0, (), ())
    assert (await store.schedules.watch()).next_due == view.turn.due_at == minute(1)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["task", "job"])
async def test_a_stored_target_that_names_no_outcome_does_not_stop_the_firing(
    store: Store, clock: ManualClock, kind: str
) -> None:
    silent = (NotifyTarget(email="ada@example.org", on=()),)
    job = job_request()
    tasks = {key: replace(task, notify=silent) for key, task in job.tasks.items()}
    targets = {
        "task": ScheduleTarget(task=TaskRequest(name="work", notify=silent)),
        "job": ScheduleTarget(job=replace(job, notify=silent, tasks=tasks)),
    }
    await store.schedules.add_schedules([replace(new_schedule(clock.now()), target=targets[kind])])
    to_minute(clock, 1, 0.2)

    fired = await fire(store)

    assert len(fired.runs) == 1


async def test_a_firing_makes_a_task_that_can_be_claimed_at_once(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    to_minute(clock, 1, 0.2)

    fired = await fire(store)

    ((task, due_at),) = fired.tasks
    (run,) = await runs_of(store, view.id)
    assert (due_at, fired.schedules, fired.runs) == (clock.now(), 1, (run,))
    assert (run.fire_time, run.kind, run.state, run.task) == (minute(1), RunKind.SCHEDULED, RunState.STARTED, task.id)
    assert (await claim_one(store, await open_session(store))).lease.task == task.id


async def test_a_task_knows_its_schedule_and_the_fire_time_that_it_is_for(store: Store, clock: ManualClock) -> None:
    plain = await add(store, clock, "plain")
    tagged = await add(store, clock, "tagged", task=TaskRequest(name="work", tags=("vip",), retries=7))
    job = await add(store, clock, "job", job=job_request())
    to_minute(clock, 1, 5)

    await fire(store)

    made = [held.options for held in await claim(store, await open_session(store))]
    assert {(options.schedule, options.fire_time) for options in made} == {
        (view.id, minute(1)) for view in (plain, tagged, job)
    }
    (options,) = [options for options in made if options.schedule == tagged.id]
    assert (options.tags, options.retries) == (("vip",), 7)


async def test_the_schedule_goes_on_to_its_next_fire_time(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    to_minute(clock, 1)

    fired = await fire(store)

    after = await get(store, view.id)
    assert after.turn is not None
    assert (after.turn.fire_at, after.runs, after.last_fire_time) == (minute(2), 1, minute(1))
    assert (after.last_task, after.last_job) == (task_of(fired), None)
    assert after.version == view.version
    assert (await fire(store)).schedules == 0


async def test_a_firing_makes_a_job_with_its_own_tasks(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, job=job_request())
    for number in (1, 2):
        to_minute(clock, number)
        assert len((await fire(store)).effects.released) == 1

    runs = await runs_of(store, view.id)
    jobs = [job for job in await store.jobs.get_jobs([run.job for run in runs if run.job]) if job]

    assert [(job.schedule_id, job.fire_time) for job in jobs] == [(view.id, minute(1)), (view.id, minute(2))]
    nodes = [{node.task for node in await store.jobs.nodes(job.id)} for job in jobs]
    assert [len(tasks) for tasks in nodes] == [2, 2]
    assert nodes[0].isdisjoint(nodes[1])
    assert (await get(store, view.id)).last_job == runs[1].job


async def test_a_job_that_cannot_be_made_is_a_skipped_run_with_the_reason(store: Store, clock: ManualClock) -> None:
    gone = new_id()
    view = await add(store, clock, job=replace(job_request(), depends_on=(gone,)))
    to_minute(clock, 1)

    fired = await fire(store)

    (run,) = await runs_of(store, view.id)
    assert (run.state, run.job, run.reason) == (RunState.SKIPPED, None, f"depends_on[0]: there is no job {gone}")
    assert fired.runs == (run,)
    after = await get(store, view.id)
    assert (after.skipped, after.last_job) == (1, None)
    assert after.turn is not None


async def test_only_so_many_schedules_are_fired_in_one_transaction(store: Store, clock: ManualClock) -> None:
    for number in range(5):
        await add(store, clock, f"s{number}")
    to_minute(clock, 1)

    fired = [await fire(store, limit=2) for _ in range(4)]

    assert [(one.schedules, len(one.runs)) for one in fired] == [(2, 2), (2, 2), (1, 1), (0, 0)]


async def test_a_one_time_schedule_finishes(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, run_at=to_datetime(minute(3)))
    to_minute(clock, 3)

    await fire(store)

    after = await get(store, view.id)
    assert (after.state, after.turn, after.runs) == (ScheduleState.FINISHED, None, 1)
    assert (await store.schedules.watch()).next_due is None


async def test_a_schedule_finishes_after_its_last_run(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, max_runs=2)

    for number in (1, 2, 3):
        to_minute(clock, number)
        await fire(store)

    assert times_of(await runs_of(store, view.id)) == [1, 2]
    assert (await get(store, view.id)).state is ScheduleState.FINISHED


async def test_a_paused_schedule_does_not_fire(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    pause = ScheduleChange(id=view.id, version=view.version, word="paused", placing=Placing(state=ScheduleState.PAUSED))
    await store.schedules.change_schedules([pause])
    to_minute(clock, 5)

    assert (await fire(store)).schedules == 0


async def test_jitter_moves_the_firing_and_not_its_fire_time(store: Store, clock: ManualClock) -> None:
    views = [await add(store, clock, f"s{number}", jitter=30) for number in range(20)]
    turns = [view.turn for view in views if view.turn]
    assert {turn.fire_at for turn in turns} == {minute(1)}
    assert len({turn.due_at for turn in turns}) > 10
    assert all(minute(1) <= turn.due_at <= minute(1) + 30_000 for turn in turns)

    to_minute(clock, 1, 15)
    early = await fire(store)
    to_minute(clock, 1, 30)
    late = await fire(store)

    assert 0 < early.schedules < 20
    assert early.schedules + late.schedules == 20
    assert {run.fire_time for run in early.runs + late.runs} == {minute(1)}


# -- once, and only once


async def test_many_schedulers_at_once_fire_each_time_once(
    store: Store, make_store: MakeStore, clock: ManualClock
) -> None:
    views = [await add(store, clock, f"s{number}", interval=1) for number in range(40)]
    stores: list[Store] = [store, *[await make_store(clock) for _ in range(3)]]
    others = [
        other for other in stores if await other.schedules.get_schedules([views[0].id]) != [None]
    ]  # not those in memory

    for _ in range(3):
        clock.advance(1)
        await asyncio.gather(*(fire(other, limit=7) for other in others for _ in range(12)))
    for other in stores[1:]:
        await other.close()

    for view in views:
        runs = await runs_of(store, view.id)
        assert [run.fire_time - view.created_at for run in runs] == [1000, 2000, 3000]
        assert len({run.task for run in runs}) == 3


async def test_a_fire_time_that_has_a_run_does_not_fire_again(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    early = await store.firing.add_runs(view.id, [NewRun(fire_time=minute(1), kind=RunKind.TRIGGER)], order())
    to_minute(clock, 1)

    fired = await fire(store)

    assert (fired.schedules, fired.tasks) == (1, ())
    (run,) = await runs_of(store, view.id)
    assert run.task == task_of(early)
    assert (await get(store, view.id)).turn.fire_at == minute(2)  # type: ignore[union-attr]


async def test_a_schedule_that_cannot_be_read_here_is_put_off_and_keeps_nobody_else(
    store: Store, clock: ManualClock
) -> None:
    known = await add(store, clock, "known")
    new = new_schedule(clock.now(), "unknown")
    elsewhere = replace(new, rule=replace(new.rule, timezone="Mars/Olympus_Mons"))
    await store.schedules.add_schedules([elsewhere])
    to_minute(clock, 1)

    fired = await fire(store)
    again = await fire(store)

    assert ([run.schedule for run in fired.runs], again.schedules) == ([known.id], 0)
    turn = (await get(store, elsewhere.id)).turn
    assert turn == Turn(minute(1), minute(2))  # its fire time is not lost


async def test_a_clock_that_steps_back_fires_nothing_twice(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    for step in (1, 2, -1, 1, 2, 3):
        to_minute(clock, step, 1)
        await fire(store)

    assert times_of(await runs_of(store, view.id)) == [1, 2, 3]


async def test_a_clock_that_steps_forward_misses_nothing(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, misfire=Misfire.SKIP)
    to_minute(clock, 7, 30)

    await fire(store, absence=None)

    assert times_of(await runs_of(store, view.id)) == [1, 2, 3, 4, 5, 6, 7]


# -- what was missed


@pytest.mark.parametrize(
    ("misfire", "times", "kinds", "missed"),
    [
        (Misfire.SKIP, [2, 10], "ss", 7),
        (Misfire.ONCE, [2, 9, 10], "sms", 6),
        (Misfire.ALL, [2, 3, 4, 5, 6, 7, 8, 9, 10], "smmmmmmms", 0),
    ],
)
async def test_what_was_missed_goes_by_the_policy(
    store: Store, clock: ManualClock, misfire: Misfire, times: list[int], kinds: str, missed: int
) -> None:
    """A scheduler fires minute 1, is killed before it can fire minute 2, and the next one comes at minute 10."""
    view = await add(store, clock, misfire=misfire)
    to_minute(clock, 1)
    await fire(store)
    to_minute(clock, 10, 0.3)

    fired = await fire(store, absence=Absence(since=Instant(minute(2) + 10), until=Instant(clock.now() - 1000)))

    runs = (await runs_of(store, view.id))[1:]
    assert (times_of(runs), "".join(run.kind.value[0] for run in runs)) == (times, kinds)
    after = await get(store, view.id)
    assert (after.missed, fired.missed) == (missed, missed)
    assert after.turn is not None
    assert after.turn.fire_at == minute(11)


async def test_not_more_than_the_newest_are_made_up_for(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, misfire=Misfire.ALL)
    to_minute(clock, 1000, 30)

    fired = await fire(store, absence=Absence(since=Instant(0), until=clock.now()), limits=Limits(missed_runs=10))

    assert times_of(await runs_of(store, view.id)) == list(range(991, 1001))
    assert (fired.missed, (await get(store, view.id)).missed) == (990, 990)


async def test_a_missed_single_time_is_made_up_for_or_not(store: Store, clock: ManualClock) -> None:
    once = await add(store, clock, "once", run_at=to_datetime(minute(2)))
    skip = await add(store, clock, "skip", run_at=to_datetime(minute(2)), misfire=Misfire.SKIP)
    to_minute(clock, 9)

    await fire(store, absence=Absence(since=minute(1), until=minute(8)))

    assert times_of(await runs_of(store, once.id)) == [2]
    assert times_of(await runs_of(store, skip.id)) == []
    assert {(await get(store, one.id)).state for one in (once, skip)} == {ScheduleState.FINISHED}


# -- overlap


async def run_minutes(store: Store, clock: ManualClock, *minutes: int) -> list[Fired]:
    fired = []
    for number in minutes:
        to_minute(clock, number)
        fired.append(await fire(store))
    return fired


async def test_runs_may_overlap(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)

    await run_minutes(store, clock, 1, 2, 3)

    assert [run.state for run in await runs_of(store, view.id)] == [RunState.STARTED] * 3


async def test_a_firing_is_skipped_while_the_previous_run_goes_on(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.SKIP)
    (first, second) = await run_minutes(store, clock, 1, 2)
    assert second.tasks == ()
    await finish(store, task_of(first))

    await run_minutes(store, clock, 3)

    runs = await runs_of(store, view.id)
    assert [run.state for run in runs] == [RunState.STARTED, RunState.SKIPPED, RunState.STARTED]
    assert (runs[1].task, runs[1].reason) == (None, "the previous run had not ended")
    after = await get(store, view.id)
    assert (after.runs, after.skipped, after.last_fire_time) == (2, 1, minute(3))


async def test_a_job_that_goes_on_is_a_run_that_goes_on(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.SKIP, job=job_request())
    await run_minutes(store, clock, 1, 2)
    (run, _) = await runs_of(store, view.id)
    ada = await open_session(store)
    for _ in range(2):
        await settle(store, (await claim_one(store, ada)).lease, Act.COMPLETE)
    assert run.job is not None
    (job,) = await store.jobs.get_jobs([run.job])
    assert job is not None
    assert job.status is JobStatus.COMPLETED

    await run_minutes(store, clock, 3)

    states = [run.state for run in await runs_of(store, view.id)]
    assert states == [RunState.STARTED, RunState.SKIPPED, RunState.STARTED]


async def test_a_queued_run_waits_for_those_before_it(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.QUEUE)
    fired = await run_minutes(store, clock, 1, 2, 3)
    assert [len(one.tasks) for one in fired] == [1, 0, 0]
    assert (await store.schedules.watch()).has_waiting
    assert (await store.firing.start_runs(order())).runs == ()

    started = []
    for _ in range(2):
        previous = (await get(store, view.id)).last_task
        assert previous is not None
        await finish(store, previous)
        started.append(await store.firing.start_runs(order()))

    assert [times_of(one.runs) for one in started] == [[2], [3]]
    assert [run.state for run in await runs_of(store, view.id)] == [RunState.STARTED] * 3
    after = await get(store, view.id)
    assert (after.waiting, after.runs, after.last_task) == (0, 3, task_of(started[1]))
    assert not (await store.schedules.watch()).has_waiting


async def test_queued_runs_of_a_paused_schedule_wait_on(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.QUEUE)
    (first, _) = await run_minutes(store, clock, 1, 2)
    await finish(store, task_of(first))
    view = await get(store, view.id)
    pause = ScheduleChange(id=view.id, version=view.version, word="paused", placing=Placing(state=ScheduleState.PAUSED))
    await store.schedules.change_schedules([pause])

    assert (await store.firing.start_runs(order())).runs == ()


async def test_only_so_many_runs_wait(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.QUEUE)
    to_minute(clock, 5)

    await fire(store, limits=Limits(waiting_runs=2))

    runs = await runs_of(store, view.id)
    assert "".join(run.state.value[0:2] for run in runs) == "stwawasksk"
    assert runs[-1].reason == "too many runs were waiting"


async def test_a_previous_run_that_waits_is_cancelled_at_once(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.CANCEL_PREVIOUS)

    (first, second) = await run_minutes(store, clock, 1, 2)

    assert second.cancelled == (task_of(first),)
    assert await state_of(store, task_of(first)) is State.CANCELLED
    assert await state_of(store, task_of(second)) is State.QUEUED
    assert (await get(store, view.id)).last_task == task_of(second)


async def test_a_previous_run_that_is_running_is_asked_to_stop(store: Store, clock: ManualClock) -> None:
    await add(store, clock, overlap=Overlap.CANCEL_PREVIOUS)
    (first,) = await run_minutes(store, clock, 1)
    await claim_one(store, await open_session(store))

    (second,) = await run_minutes(store, clock, 2)

    (view,) = await store.queries.get([task_of(first)])
    assert view is not None
    assert (view.state, view.cancel_requested) == (State.RUNNING, True)
    assert second.cancelled == ()
    assert len(second.tasks) == 1


async def test_a_previous_job_is_cancelled_whole(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.CANCEL_PREVIOUS, job=job_request())

    await run_minutes(store, clock, 1, 2)

    jobs = await store.jobs.get_jobs([run.job for run in await runs_of(store, view.id) if run.job])
    assert [job.status for job in jobs if job] == [JobStatus.CANCELLED, JobStatus.PENDING]


async def test_a_previous_run_goes_on_if_none_takes_its_place(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.CANCEL_PREVIOUS)
    await store.firing.add_runs(view.id, [NewRun(fire_time=minute(1), kind=RunKind.TRIGGER)], order())
    early = await store.firing.add_runs(view.id, [NewRun(fire_time=clock.now(), kind=RunKind.TRIGGER)], order())
    to_minute(clock, 1)

    fired = await fire(store)

    assert (fired.schedules, fired.tasks, fired.cancelled) == (1, (), ())
    assert await state_of(store, task_of(early)) is State.QUEUED


async def test_of_several_late_firings_only_the_last_starts_where_each_would_cancel_the_one_before(
    store: Store, clock: ManualClock
) -> None:
    view = await add(store, clock, overlap=Overlap.CANCEL_PREVIOUS)
    to_minute(clock, 3)

    fired = await fire(store)

    runs = await runs_of(store, view.id)
    assert [run.state for run in runs] == [RunState.SKIPPED, RunState.SKIPPED, RunState.STARTED]
    assert len(fired.tasks) == 1


# -- runs that somebody asks for


async def test_a_triggered_run_starts_at_once_and_is_the_previous_one(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.SKIP)

    fired = await store.firing.add_runs(view.id, [NewRun(fire_time=clock.now(), kind=RunKind.TRIGGER)], order())

    (run,) = fired.runs
    assert (run.kind, run.state, run.task) == (RunKind.TRIGGER, RunState.STARTED, task_of(fired))
    assert (await run_minutes(store, clock, 1))[0].tasks == ()
    after = await get(store, view.id)
    assert (after.last_task, after.runs, after.skipped) == (run.task, 0, 1)


async def test_a_run_cannot_be_asked_of_a_schedule_that_does_not_exist(store: Store, clock: ManualClock) -> None:
    with pytest.raises(NotFound):
        await store.firing.add_runs(
            ScheduleId(new_id()), [NewRun(fire_time=clock.now(), kind=RunKind.TRIGGER)], order()
        )


def backfill(clock: ManualClock, *minutes: int) -> list[NewRun]:
    return [
        NewRun(fire_time=minute(-number), kind=RunKind.BACKFILL, start_at=Instant(clock.now() + place * 1000))
        for place, number in enumerate(minutes)
    ]


async def test_a_backfill_starts_at_its_pace(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, paused=True)

    added = await store.firing.add_runs(view.id, backfill(clock, 5, 4, 3), order())

    assert [run.state for run in added.runs] == [RunState.WAITING] * 3
    assert (await store.schedules.watch()).next_start == clock.now()
    counts = []
    for _ in range(4):
        counts.append(len((await store.firing.start_runs(order())).tasks))
        clock.advance(1)
    assert counts == [1, 1, 1, 0]
    assert (await get(store, view.id)).last_task is None
    assert (await store.schedules.watch()).next_start is None


async def test_a_repeated_backfill_makes_nothing_twice(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    runs = backfill(clock, 5, 4)
    await store.firing.add_runs(view.id, runs, order())
    clock.advance(5)
    await store.firing.start_runs(order())

    again = await store.firing.add_runs(view.id, [*runs, *backfill(clock, 3)], order())

    assert times_of(again.runs) == [-3]
    assert await store.schedules.fire_times(view.id, after=minute(-9), until=minute(0)) == {
        minute(-5),
        minute(-4),
        minute(-3),
    }


async def test_a_backfill_makes_up_for_what_was_skipped(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.SKIP)
    await run_minutes(store, clock, 1, 2)
    run = NewRun(fire_time=minute(2), kind=RunKind.BACKFILL, start_at=clock.now())

    assert await store.schedules.fire_times(view.id, after=minute(0), until=minute(2)) == {minute(1)}
    await store.firing.add_runs(view.id, [run], order())
    await store.firing.start_runs(order())

    made_up = (await runs_of(store, view.id))[1]
    assert (made_up.kind, made_up.state, made_up.reason) == (RunKind.BACKFILL, RunState.STARTED, None)


async def test_a_backfill_can_be_given_up(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    await store.firing.add_runs(view.id, backfill(clock, 5, 4, 3), order())
    await store.firing.start_runs(order())

    assert await store.schedules.drop_runs(view.id, kind=RunKind.BACKFILL) == 2
    clock.advance(10)
    assert (await store.firing.start_runs(order())).runs == ()
    assert times_of(await runs_of(store, view.id)) == [-5]


# -- looking after it


async def test_runs_are_listed_latest_first_page_by_page(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    await run_minutes(store, clock, *range(1, 6))

    first = await store.schedules.list_runs(view.id, limit=3)
    second = await store.schedules.list_runs(view.id, limit=3, before=first[-1].fire_time)

    assert times_of(first + second) == [5, 4, 3, 2, 1]


async def test_old_notes_are_pruned_and_waiting_runs_are_not(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, overlap=Overlap.QUEUE)
    await run_minutes(store, clock, 1, 2)
    clock.advance(3600)

    assert await store.schedules.prune_runs(before=minute(1), limit=10) == 0
    assert await store.schedules.prune_runs(before=clock.now(), limit=10) == 1
    assert times_of(await runs_of(store, view.id)) == [2]


async def test_a_scheduler_leaves_word_of_when_it_was_last_here(store: Store, clock: ManualClock) -> None:
    assert (await store.schedules.watch()).seen_at is None

    await store.schedules.note_watch()
    seen_at = clock.now()
    clock.advance(5)

    assert (await store.schedules.watch()).seen_at == seen_at
    clock.advance(-10)
    await store.schedules.note_watch()
    assert (await store.schedules.watch()).seen_at == clock.now()


async def test_firings_are_told_as_facts(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, max_runs=1)
    await run_minutes(store, clock, 1)
    assert isinstance((await store.schedules.delete_schedules([view.id]))[0], ScheduleView)

    await store.events.sequence()
    page = await store.events.read_events(after=0, limit=100)

    assert [event.type for event in page.events if event.subject == view.id] == [
        "drumline.schedule.created",
        "drumline.schedule.fired",
        "drumline.schedule.finished",
        "drumline.schedule.deleted",
    ]
