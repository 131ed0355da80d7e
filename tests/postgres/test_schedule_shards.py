"""Schedules over several databases: one of each name, and what they fire is found by the map."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import structlog
from msgspec.structs import replace

from drumline.core.accept_job import with_new_ids
from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Conflict, Moved
from drumline.core.ids import JobId, ScheduleId
from drumline.core.schedule import NewSchedule, RunKind, RunState, ScheduleEdit, ScheduleView
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS, slot_of, slot_of_key
from drumline.ports.drain import Copy
from drumline.ports.schedules import NewRun
from drumline.scheduler.fire import Firer
from drumline.scheduler.waits import WaitExchange
from drumline.shards.schedule_router import ScheduleRouter
from drumline.stores.postgres import PostgresStore
from tests.factories import open_session
from tests.job_factories import job_of, job_view, run_all, submit_job
from tests.postgres.shards import Process, join_all
from tests.schedule_factories import get, job_request, new_schedule, runs_of

NAME = "nightly"
SLOT = slot_of_key("default", NAME)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def stores(shard_urls: tuple[str, ...], clock: ManualClock) -> AsyncIterator[Sequence[PostgresStore]]:
    opened = [await PostgresStore.open(url, clock=clock) for url in shard_urls]
    await join_all(opened)
    yield opened
    for store in opened:
        await store.close()


@pytest.fixture
async def process(stores: Sequence[PostgresStore], clock: ManualClock) -> Process:
    made = Process(stores, clock=clock)
    await made.shards.refresh()
    return made


def placed(process: Process, clock: ManualClock, name: str = NAME, **fields: Any) -> NewSchedule:
    id_ = ScheduleId(process.ids.next(slot_of_key("default", name)))
    new = new_schedule(clock.now(), name, **fields)
    return replace(new, id=id_, slot_version=process.ids.version(id_))


async def added(process: Process, clock: ManualClock, name: str = NAME, **fields: Any) -> ScheduleView:
    (view,) = await ScheduleRouter(process.shards, process.ids).add_schedules([placed(process, clock, name, **fields)])
    assert isinstance(view, ScheduleView)
    return view


async def fire(process: Process, clock: ManualClock, shard: str = DIRECTORY) -> None:
    clock.advance(60)
    await process.engines[shard].firings.fire()


async def test_a_schedule_of_a_closed_slot_is_refused_unless_it_is_stored(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    first = placed(process, clock)
    await stores[0].schedules.add_schedules([first])
    await Process(stores, clock=clock).move([SLOT, slot_of_key("default", "other")], "b")

    answers = await stores[0].schedules.add_schedules(
        [first, placed(process, clock), placed(process, clock, "other"), placed(process, clock, "third")]
    )

    assert [type(answer) for answer in answers] == [ScheduleView, Conflict, Moved, ScheduleView]


async def test_a_name_is_one_schedule_however_often_its_slot_has_moved(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    behind = Process(stores, seed=2, clock=clock)
    await behind.shards.refresh()
    router = ScheduleRouter(process.shards, process.ids)
    await added(process, clock)
    for taker in ("b", "c", DIRECTORY, "b"):
        await process.move([SLOT], taker)
        assert [type(answer) for answer in await router.add_schedules([placed(process, clock)])] == [Conflict]

    late = await ScheduleRouter(behind.shards, behind.ids).add_schedules([placed(behind, clock)])
    assert [type(answer) for answer in late] == [Conflict]
    other = await added(process, clock, "other")
    assert process.shards.of(other.id).name == DIRECTORY


async def test_a_new_schedule_goes_to_the_owner_of_its_name(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    behind = Process(stores, seed=2, clock=clock)
    await behind.shards.refresh()
    await process.move([SLOT], "b")

    view = await added(behind, clock)

    assert slot_of(view.id) == SLOT
    assert process.shards.of(view.id).name == "b"
    assert (await get(stores[1], view.id)).name == NAME


async def test_what_a_schedule_fires_is_in_its_slot_while_that_is_open_and_found_by_the_map_after(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    view = await added(process, clock)
    await fire(process, clock)
    await process.move([SLOT], "b")
    await fire(process, clock)

    first, second = [run.task for run in await runs_of(stores[0], view.id)]

    assert first is not None
    assert second is not None
    assert slot_of(first) == SLOT
    assert slot_of(second) != SLOT
    assert [process.shards.of(task).name for task in (first, second)] == [DIRECTORY] * 2
    assert None not in await stores[0].queries.get([first, second])


@pytest.mark.parametrize("kind", ["task", "job"])
async def test_a_scheduler_whose_map_is_behind_fires_by_what_its_database_says(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock, kind: str
) -> None:
    view = await added(process, clock, **(dict[str, Any](job=job_request()) if kind == "job" else {}))
    other = Process(stores, clock=clock)
    await other.move([slot for slot in range(SLOTS) if slot not in {7, 8}], "b")
    await other.move([8], "c")
    await other.move([8], DIRECTORY)

    await fire(process, clock)

    (run,) = await runs_of(stores[0], view.id)
    made = run.task or run.job
    assert made is not None
    assert slot_of(made) == 7
    assert other.shards.of(made).name == DIRECTORY
    if run.job is not None:
        assert {slot_of(node.task) for node in await stores[0].jobs.nodes(run.job)} == {7}


async def test_what_a_schedule_fires_is_in_no_slot_that_the_map_does_not_know_yet(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    view = await added(process, clock)
    other = Process(stores, clock=clock)
    await other.move(range(SLOTS), "b")
    await other.move([7], DIRECTORY)

    await fire(process, clock)
    assert await runs_of(stores[0], view.id) == []
    await process.shards.refresh()
    await process.engines[DIRECTORY].firings.fire()

    (run,) = await runs_of(stores[0], view.id)
    assert run.task is not None
    assert slot_of(run.task) == 7


async def test_without_an_open_slot_nothing_fires_and_no_fire_time_is_lost(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    view = await added(process, clock)
    firer = Firer(process.engines[DIRECTORY].firings, clock=lambda: clock.now() / 1000)
    await firer.pass_once()
    await Process(stores, clock=clock).move(range(SLOTS), "b")

    with structlog.testing.capture_logs() as logs:
        for _ in range(50):
            clock.advance(3)
            await firer.pass_once()
    assert await runs_of(stores[0], view.id) == []
    assert [entry["event"] for entry in logs] == ["schedules.shut"]
    assert (await get(stores[0], view.id)).turn == view.turn
    await process.move([SLOT], DIRECTORY)
    await firer.pass_once()

    runs = await runs_of(stores[0], view.id)
    assert [(run.kind, run.state) for run in runs] == [(RunKind.SCHEDULED, RunState.STARTED)] * 2
    assert (await get(stores[0], view.id)).missed == 0


async def test_a_job_that_a_schedule_fires_waits_for_a_job_of_another_shard(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    await process.move([5], "b")
    job = with_new_ids(job_of({"x": ()}), id=JobId(process.ids.next(5)), tasks=process.ids.take_in(5, 1))
    needed = await submit_job(stores[1], replace(job, slot_version=1))
    view = await added(process, clock, job=replace(job_request(), depends_on=(needed.id,)))
    await fire(process, clock)
    (run,) = await runs_of(stores[0], view.id)
    assert run.job is not None
    assert (await job_view(stores[0], run.job)).waits_for == 1

    await WaitExchange(process.shards).pass_once()
    await run_all(stores[1], await open_session(stores[1]))
    await WaitExchange(process.shards).pass_once()

    assert (await job_view(stores[0], run.job)).waits_for == 0


async def test_a_run_that_is_requested_is_made_in_the_shard_of_its_schedule(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    await process.move([SLOT], "b")
    view = await added(process, clock)
    router = ScheduleRouter(process.shards, process.ids)

    fired = await router.add_runs(view.id, [NewRun(fire_time=clock.now(), kind=RunKind.TRIGGER)])

    (run,) = fired.runs
    assert run.task is not None
    assert None not in await stores[1].queries.get([run.task])
    await Process(stores, clock=clock).move([SLOT], "c")
    with pytest.raises(Moved):
        await router.add_runs(view.id, [NewRun(fire_time=Instant(clock.now() + 1), kind=RunKind.TRIGGER)])


async def test_a_schedule_gets_another_name_only_where_that_name_belongs(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    view = await added(process, clock)
    taken = await added(process, clock, "taken")
    await process.move([slot_of_key("default", name) for name in ("far", "taken")], "b")
    service = process.engines[DIRECTORY].schedules
    service.check_name = ScheduleRouter(process.shards, process.ids).check_name

    renamed = await service.edit(view.id, ScheduleEdit(name="near"))
    with pytest.raises(Conflict, match="belong to another shard"):
        await service.edit(view.id, ScheduleEdit(name="far"))
    with pytest.raises(Conflict, match="there is a schedule named 'taken' already"):
        await service.edit(view.id, ScheduleEdit(name="taken"))

    assert renamed.name == "near"
    assert (await get(stores[0], view.id)).name == "near"
    assert (await get(stores[0], taken.id)).name == "taken"


async def test_the_name_of_a_schedule_that_is_on_its_way_to_another_shard_is_taken(
    stores: Sequence[PostgresStore], process: Process, clock: ManualClock
) -> None:
    view = await added(process, clock)
    await process.move([SLOT], "b")
    (unit,) = await stores[0].drainage.read([view.id])
    await stores[1].drainage.put_copies(DIRECTORY, [unit])
    await stores[0].drainage.take_out("b", [Copy(unit.id, DIRECTORY, unit.version, unit.digest)])
    router = ScheduleRouter(process.shards, process.ids)

    (answer,) = await router.add_schedules([placed(process, clock)])

    assert isinstance(answer, Conflict)
    await stores[1].schedules.delete_schedules([view.id])
    await added(process, clock)
