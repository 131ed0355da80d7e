"""Schedules: kept, found, changed and deleted."""

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.core.firing_policy import FiringPolicy, Misfire, Overlap
from drumline.core.ids import ScheduleId
from drumline.core.schedule import RunKind, ScheduleState, ScheduleView, Turn
from drumline.core.timetable import Rule
from drumline.ports.schedules import Definition, NewRun, Placing, ScheduleChange, ScheduleFilter
from drumline.ports.store import Store
from tests.factories import new_id
from tests.schedule_factories import MINUTE, START, add, get, job_request, new_schedule, order, runs_of

PAUSE = Placing(state=ScheduleState.PAUSED, reason="holidays")


def definition(view: ScheduleView, **changes: object) -> Definition:
    fields = {"name": view.name, "rule": view.rule, "policy": view.policy, "target": view.target} | changes
    return Definition(**fields)  # type: ignore[arg-type]


async def change(store: Store, view: ScheduleView, **what: object) -> ScheduleView:
    (answer,) = await store.schedules.change_schedules(
        [ScheduleChange(id=view.id, version=view.version, word="edited", **what)]  # type: ignore[arg-type]
    )
    if isinstance(answer, Exception):
        raise answer
    return answer


async def test_a_schedule_is_kept_as_it_was_asked_for(store: Store, clock: ManualClock) -> None:
    new = new_schedule(
        clock.now(),
        cron="30 9 * * MON",
        timezone="Europe/Berlin",
        misfire=Misfire.ALL,
        overlap=Overlap.QUEUE,
        max_runs=3,
    )

    (added,) = await store.schedules.add_schedules([new])

    assert isinstance(added, ScheduleView)
    assert added == await get(store, new.id)
    assert (added.name, added.tenant, added.rule, added.policy) == ("nightly", "default", new.rule, new.policy)
    assert added.target == new.target
    assert (added.state, added.turn, added.created_at) == (ScheduleState.ACTIVE, new.turn, clock.now())


async def test_a_schedule_may_make_a_job(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, job=job_request())

    assert view.target.job == job_request()


async def test_a_name_is_given_once_by_each_tenant(store: Store, clock: ManualClock) -> None:
    await add(store, clock, "daily")
    await add(store, clock, "daily", tenant="acme")

    answers = await store.schedules.add_schedules(
        [new_schedule(clock.now(), "daily"), new_schedule(clock.now(), "weekly")]
    )

    assert isinstance(answers[0], Conflict)
    assert answers[0].field == "name"
    assert isinstance(answers[1], ScheduleView)


async def test_the_same_schedule_added_again_is_the_same(store: Store, clock: ManualClock) -> None:
    new = new_schedule(clock.now())

    first, second = [await store.schedules.add_schedules([new]) for _ in range(2)]

    assert first == second


async def test_schedules_are_listed_newest_first_page_by_page(store: Store, clock: ManualClock) -> None:
    views = [await add(store, clock, f"s{number}") for number in range(5)]

    first = await store.schedules.list_schedules(ScheduleFilter(), limit=3)
    second = await store.schedules.list_schedules(ScheduleFilter(), limit=3, before=first[-1].id)

    assert [view.name for view in first + second] == [view.name for view in reversed(views)]


async def test_a_list_is_narrowed(store: Store, clock: ManualClock) -> None:
    await add(store, clock, "one", tenant="acme")
    await add(store, clock, "two", paused=True)
    await add(store, clock, "three")

    async def names(**which: object) -> list[str]:
        return [view.name for view in await store.schedules.list_schedules(ScheduleFilter(**which), limit=10)]  # type: ignore[arg-type]

    assert await names(tenant="default") == ["three", "two"]
    assert await names(name="one") == ["one"]
    assert await names(state=ScheduleState.PAUSED) == ["two"]
    assert await names(app="shop") == []


async def test_a_tenant_sees_only_its_own(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock, tenant="acme")
    pause = ScheduleChange(id=view.id, version=view.version, word="paused", placing=PAUSE)

    assert await store.schedules.get_schedules([view.id], tenant="other") == [None]
    assert isinstance((await store.schedules.change_schedules([pause], tenant="other"))[0], NotFound)
    assert isinstance((await store.schedules.delete_schedules([view.id], tenant="other"))[0], NotFound)
    assert await get(store, view.id) == view


async def test_a_change_needs_the_version_that_it_was_made_for(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    clock.advance(5)

    paused = await change(store, view, placing=PAUSE)

    assert (paused.state, paused.reason, paused.turn) == (ScheduleState.PAUSED, "holidays", None)
    assert (paused.version, paused.changed_at) == (view.version + 1, clock.now())
    with pytest.raises(Conflict, match="changed meanwhile"):
        await change(store, view, placing=PAUSE)


async def test_what_is_not_changed_stays(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)

    edited = await change(
        store, view, definition=definition(view, name="other", policy=FiringPolicy(overlap=Overlap.SKIP))
    )

    assert (edited.name, edited.policy.overlap) == ("other", Overlap.SKIP)
    assert (edited.rule, edited.state, edited.turn) == (view.rule, view.state, view.turn)


async def test_a_new_rule_brings_its_next_fire_time(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    turn = Turn(Instant(START + 7 * MINUTE), Instant(START + 7 * MINUTE))
    placing = Placing(state=ScheduleState.ACTIVE, turn=turn)

    edited = await change(store, view, definition=definition(view, rule=Rule(cron="*/20 * * * *")), placing=placing)

    assert (edited.rule.cron, edited.turn) == ("*/20 * * * *", turn)
    assert (await store.schedules.watch()).next_due == turn.due_at


async def test_a_change_cannot_take_a_name_that_is_taken(store: Store, clock: ManualClock) -> None:
    await add(store, clock, "one")
    two = await add(store, clock, "two")

    with pytest.raises(Conflict, match="named 'one'"):
        await change(store, two, definition=definition(two, name="one"))

    assert (await get(store, two.id)).name == "two"


async def test_a_deleted_schedule_is_gone_with_its_runs(store: Store, clock: ManualClock) -> None:
    view = await add(store, clock)
    fired = await store.firing.add_runs(view.id, [NewRun(fire_time=START, kind=RunKind.TRIGGER)], order())
    ((task, _),) = fired.tasks

    (deleted, unknown) = await store.schedules.delete_schedules([view.id, ScheduleId(new_id())])

    assert isinstance(deleted, ScheduleView)
    assert isinstance(unknown, NotFound)
    assert await store.schedules.get_schedules([view.id]) == [None]
    assert await runs_of(store, view.id) == []
    assert (await store.schedules.watch()).next_due is None
    assert (await store.queries.get([task.id])) != [None]
    await add(store, clock)  # the name is free again
