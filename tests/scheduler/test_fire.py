"""The duty that fires: on time, through kills and steps of the clock, and by the policy after an absence."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from drumline.core.clock import Instant, ManualClock, to_datetime
from drumline.core.errors import Invalid, Unavailable
from drumline.core.firing_policy import Misfire, Overlap
from drumline.core.schedule import RunKind, ScheduleEdit, ScheduleState, ScheduleView, Turn
from drumline.core.state import Act
from drumline.engine.engine import Engine
from drumline.engine.runs import BackfillRequest
from drumline.ports.schedules import Fired
from drumline.scheduler.duty import Rounds
from drumline.scheduler.fire import LIVED_SECONDS, PATIENCE, Firer
from tests.factories import claim, open_session, settle
from tests.schedule_factories import MINUTE, START, runs_of, schedule_request, times_of


class Machine:
    """A machine with schedulers on it: its wall clock may be set, and its time since boot goes on regardless."""

    def __init__(self, engine: Engine, clock: ManualClock) -> None:
        self.engine = engine
        self.clock = clock
        self.since_boot = 1000.0

    def scheduler(self, **options: Any) -> Firer:
        return Firer(self.engine.firings, clock=lambda: self.since_boot, **options)

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.since_boot += seconds

    async def work(self, firer: Firer, seconds: int) -> None:
        """Let a scheduler do its rounds for a while."""
        for _ in range(seconds):
            await firer.pass_once()
            self.wait(1)
        await firer.pass_once()

    async def take_over(self, firer: Firer) -> None:
        """Let a scheduler wait for as long as it takes to be sure that nobody else is there."""
        for _ in range(round(PATIENCE) + 1):
            await firer.pass_once()
            self.wait(1)

    def to_minute(self, number: int, seconds: float = 0.0) -> None:
        self.wait((START + number * MINUTE - self.clock.now()) / 1000 + seconds)

    async def create(self, name: str = "nightly", **fields: Any) -> ScheduleView:
        return await self.engine.schedules.create(schedule_request(name, **fields), tenant="default")

    async def minutes(self, view: ScheduleView) -> list[int]:
        return times_of(await runs_of(self.engine.store, view.id))


@pytest.fixture
def machine(engine: Engine, clock: ManualClock) -> Machine:
    return Machine(engine, clock)


async def test_a_pass_fires_what_is_due_however_much_it_is(machine: Machine) -> None:
    for number in range(25):
        await machine.create(f"s{number}")
    firer = machine.scheduler(batch=4)
    await firer.pass_once()
    machine.to_minute(1)

    assert await firer.pass_once() == 25
    assert await firer.pass_once() == 0


async def test_the_next_pass_comes_when_the_next_firing_is_due(machine: Machine) -> None:
    firer = machine.scheduler()
    await firer.pass_once()
    assert firer.next_in() is None
    await machine.create()

    machine.to_minute(1, -0.25)
    await firer.pass_once()

    assert firer.next_in() == pytest.approx(0.25)
    assert Rounds(firer).pause() == pytest.approx(0.25)


async def test_a_pass_comes_each_second_at_least(machine: Machine) -> None:
    await machine.create()
    firer = machine.scheduler()

    await firer.pass_once()

    assert Rounds(firer, random=lambda: 0.0).pause() == 1.0


async def test_fired_tasks_are_offered_at_once(machine: Machine) -> None:
    await machine.create()
    session = await open_session(machine.engine.store)
    spec = await machine.engine.sessions.spec(session)
    claiming = asyncio.create_task(machine.engine.claims.claim(session, spec, limit=1, wait=600))
    firer = machine.scheduler()
    await firer.pass_once()
    machine.to_minute(1)

    await firer.pass_once()

    async with asyncio.timeout(5):
        (task,) = await claiming
    assert task.name == "work"


async def test_what_has_finished_can_be_renamed_and_revived(machine: Machine) -> None:
    view = await machine.create(max_runs=1)
    firer = machine.scheduler()
    await firer.pass_once()
    machine.to_minute(1)
    await firer.pass_once()
    desk = machine.engine.schedules

    renamed = await desk.edit(view.id, ScheduleEdit(name="once"))
    revived = await desk.edit(view.id, ScheduleEdit(max_runs=2))

    assert (renamed.name, renamed.state) == ("once", ScheduleState.FINISHED)
    assert revived.state is ScheduleState.ACTIVE
    machine.to_minute(2)
    await firer.pass_once()
    assert await machine.minutes(view) == [1, 2]


async def test_a_schedule_finishes_when_it_is_given_fewer_runs_than_it_has_had(machine: Machine) -> None:
    view = await machine.create(max_runs=5)
    firer = machine.scheduler()
    await firer.pass_once()
    for number in (1, 2):
        machine.to_minute(number)
        await firer.pass_once()
    desk = machine.engine.schedules

    fewer = await desk.edit(view.id, ScheduleEdit(max_runs=1))
    as_many = await desk.edit(view.id, ScheduleEdit(max_runs=2))
    more = await desk.edit(view.id, ScheduleEdit(max_runs=3))

    assert [each.state for each in (fewer, as_many, more)] == [
        ScheduleState.FINISHED, ScheduleState.FINISHED, ScheduleState.ACTIVE,
    ]  # fmt: skip
    assert (fewer.turn, more.turn) == (None, Turn(Instant(START + 3 * MINUTE), Instant(START + 3 * MINUTE)))


async def test_a_fire_time_that_waits_for_its_share_of_the_jitter_is_not_lost_by_an_edit(machine: Machine) -> None:
    view = await machine.create(jitter=50.0)
    assert view.turn is not None
    machine.to_minute(1)
    firer = machine.scheduler()
    await firer.pass_once()
    assert await machine.minutes(view) == []

    edited = await machine.engine.schedules.edit(view.id, ScheduleEdit(jitter=0.0))
    await firer.pass_once()

    assert edited.turn == Turn(view.turn.fire_at, view.turn.fire_at)
    assert await machine.minutes(view) == [1]


async def test_a_triggered_run_does_not_take_the_place_of_one_that_is_due(machine: Machine) -> None:
    view = await machine.create()
    firer = machine.scheduler()
    await firer.pass_once()
    machine.to_minute(1)

    triggered = await machine.engine.runs.trigger(view.id)
    await firer.pass_once()

    runs = await runs_of(machine.engine.store, view.id)
    assert [(run.kind, run.fire_time - START - MINUTE) for run in runs] == [
        (RunKind.SCHEDULED, 0),
        (RunKind.TRIGGER, 1),
    ]
    assert triggered.fire_time == START + MINUTE + 1


async def test_a_single_time_that_is_over_can_be_renamed_but_not_set_to_the_past(machine: Machine) -> None:
    at = to_datetime(Instant(START + MINUTE))
    view = await machine.create(run_at=at)
    machine.to_minute(2)
    await machine.take_over(machine.scheduler())

    assert (await machine.engine.schedules.edit(view.id, ScheduleEdit(name="x"))).state is ScheduleState.FINISHED
    with pytest.raises(Invalid, match="in the past"):
        await machine.engine.schedules.edit(view.id, ScheduleEdit(run_at=at - timedelta(minutes=1)))


# -- who was there


async def test_a_late_pass_of_a_living_scheduler_misses_nothing(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP, interval=10)
    firer = machine.scheduler()
    await firer.pass_once()
    machine.wait(55)

    await firer.pass_once()

    runs = await runs_of(machine.engine.store, view.id)
    assert [run.kind for run in runs] == [RunKind.SCHEDULED] * 5


async def test_a_clock_set_forward_by_hours_misses_nothing(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP)
    firer = machine.scheduler()
    await firer.pass_once()

    machine.clock.advance(3 * 3600)
    machine.since_boot += 1
    await firer.pass_once()

    assert len(await machine.minutes(view)) == 180


async def test_a_clock_set_back_fires_nothing_twice(machine: Machine) -> None:
    view = await machine.create()
    firer = machine.scheduler()
    await machine.work(firer, 130)

    machine.clock.advance(-120)
    await machine.work(firer, 180)

    assert await machine.minutes(view) == [1, 2, 3]


async def test_a_machine_that_slept_has_missed_what_was_due(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.ONCE)
    firer = machine.scheduler()
    await firer.pass_once()
    machine.to_minute(30, 10)

    await machine.take_over(firer)

    assert await machine.minutes(view) == [30]
    (run,) = await runs_of(machine.engine.store, view.id)
    assert run.kind is RunKind.MISFIRE


async def test_a_scheduler_that_starts_while_another_is_there_takes_over_without_a_gap(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP, interval=1)
    first = machine.scheduler()
    await machine.work(first, 20)

    machine.wait(3)  # killed, and the next one starts
    await machine.work(machine.scheduler(), 5)

    runs = await runs_of(machine.engine.store, view.id)
    seconds = [(run.fire_time - view.created_at) // 1000 for run in runs]
    assert seconds == list(range(1, 29))


async def test_after_an_absence_each_schedule_goes_by_its_policy(machine: Machine) -> None:
    views = {misfire: await machine.create(misfire.value, misfire=misfire) for misfire in Misfire}
    await machine.work(machine.scheduler(), 50)
    machine.to_minute(8, 20)

    await machine.take_over(machine.scheduler())

    assert {misfire.value: await machine.minutes(view) for misfire, view in views.items()} == {
        "skip": [1],
        "once": [1, 8],
        "all": [1, 2, 3, 4, 5, 6, 7, 8],
    }


async def test_a_short_gap_between_two_schedulers_is_no_absence(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP)
    machine.to_minute(1, 55)
    await machine.take_over(machine.scheduler())

    machine.to_minute(2, 3)
    await machine.scheduler().pass_once()
    machine.to_minute(3, 10)
    await machine.take_over(machine.scheduler())

    assert await machine.minutes(view) == [2]


async def test_a_scheduler_that_dies_amid_what_was_missed_leaves_the_rest_to_be_judged_alike(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = [await machine.create(f"s{number}", misfire=Misfire.ONCE) for number in range(6)]
    await machine.work(machine.scheduler(), 10)
    machine.to_minute(9, 30)
    fire = machine.engine.firings.fire
    passes = 0

    async def fire_and_die(**how: Any) -> Fired:
        nonlocal passes
        passes += 1
        if passes == 3:
            raise Unavailable("killed")
        return await fire(**how)

    monkeypatch.setattr(machine.engine.firings, "fire", fire_and_die)
    with pytest.raises(Unavailable):
        await machine.take_over(machine.scheduler(batch=2))
    machine.wait(1)
    await machine.take_over(machine.scheduler(batch=2))

    assert [await machine.minutes(view) for view in views] == [[9]] * 6


async def test_what_was_due_before_there_ever_was_a_scheduler_was_missed(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP)
    machine.to_minute(3, 30)

    await machine.take_over(machine.scheduler())

    assert await machine.minutes(view) == []


async def test_what_comes_due_while_a_scheduler_waits_for_others_is_not_missed(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP)
    machine.to_minute(3, -1.5)
    firer = machine.scheduler()

    await machine.take_over(firer)

    assert await machine.minutes(view) == [3]


async def test_a_clock_set_forward_as_a_scheduler_starts_misses_nothing_if_another_is_there(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP)
    here, new = machine.scheduler(), machine.scheduler()
    await machine.work(here, 10)
    machine.clock.advance(3600)

    assert await new.pass_once() == 0
    machine.since_boot += 0.9
    await here.pass_once()

    assert len(await machine.minutes(view)) == 60
    await machine.take_over(new)
    assert len(await machine.minutes(view)) == 60


async def test_a_scheduler_that_was_away_for_too_long_asks_the_others(machine: Machine) -> None:
    view = await machine.create(misfire=Misfire.SKIP)
    away, here = machine.scheduler(), machine.scheduler()
    await away.pass_once()
    await machine.work(here, round(LIVED_SECONDS) + 99)
    machine.to_minute(3, 0.5)

    await away.pass_once()

    assert await machine.minutes(view) == [1, 2, 3]


# -- runs that wait


async def test_a_queued_run_starts_within_a_pass_of_the_end_of_the_one_before(machine: Machine) -> None:
    view = await machine.create(overlap=Overlap.QUEUE)
    firer = machine.scheduler()
    store = machine.engine.store
    ada = await open_session(store)
    await machine.work(firer, 70)
    (first,) = await claim(store, ada)

    await machine.work(firer, 30)
    assert await claim(store, ada) == []
    await settle(store, first.lease, Act.COMPLETE)
    await firer.pass_once()

    (second,) = await claim(store, ada)
    tasks = [run.task for run in await runs_of(store, view.id)]
    assert tasks == [first.lease.task, second.lease.task]


async def test_a_backfill_goes_at_its_pace(machine: Machine) -> None:
    view = await machine.create()
    firer = machine.scheduler()
    start, end = (to_datetime(Instant(START - minutes * MINUTE)) for minutes in (10, 1))

    backfill = await machine.engine.runs.backfill(view.id, BackfillRequest(start=start, end=end, rate=2.0))

    assert (backfill.count, backfill.missing) == (10, 10)
    counts = []
    for _ in range(6):
        counts.append(await firer.pass_once())
        machine.wait(1)
    assert counts == [1, 2, 2, 2, 2, 1]
    assert firer.next_in() is not None
