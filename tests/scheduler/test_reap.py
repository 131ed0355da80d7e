"""Dead workers' tasks run elsewhere; nobody alive is ever taken for dead."""

from typing import Any

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Unavailable
from drumline.core.session import BEAT_EVERY, SESSION_TTL
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.ports.store import Reaped
from drumline.scheduler.reap import Reaper
from tests.scheduler.workers import Worker, open_worker, submit


@pytest.fixture
def reaper(engine: Engine, clock: ManualClock) -> Reaper:
    return Reaper(engine, clock=clock, poison_after=3)


async def look_for(reaper: Reaper, clock: ManualClock, seconds: float, *, beating: Worker | None = None) -> Reaped:
    """Pass once a second, as the scheduler does, and return the last answer."""
    reaped = Reaped()
    for _ in range(round(seconds)):
        clock.advance(1)
        if beating is not None:
            await beating.beat()
        reaped = await reaper.pass_once()
        if reaped.sessions:
            break
    return reaped


async def test_a_silent_worker_is_reaped_after_its_ttl_and_not_before(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    ada = await open_worker(engine)
    await reaper.pass_once()

    early = await look_for(reaper, clock, SESSION_TTL - 1)
    late = await look_for(reaper, clock, 1)

    assert early.sessions == ()
    assert late.sessions == (ada.session,)


async def test_tasks_of_a_dead_worker_go_to_another(engine: Engine, clock: ManualClock, reaper: Reaper) -> None:
    (task,) = await submit(engine)
    ada = await open_worker(engine)
    await ada.claim()
    await reaper.pass_once()

    reaped = await look_for(reaper, clock, SESSION_TTL + 1)
    bob = await open_worker(engine, "bob")
    (claimed,) = await bob.claim()

    assert [hint.task for hint in reaped.requeued] == [task]
    assert claimed.lease.task == task
    assert (await engine.queries.get(task)).crashes == 1


async def test_a_dead_worker_frees_its_tasks_within_20_seconds(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    await submit(engine)
    ada = await open_worker(engine)
    await ada.claim()
    await look_for(reaper, clock, 30, beating=ada)
    died = clock.monotonic()

    await look_for(reaper, clock, 60)

    assert clock.monotonic() - died <= 20


async def test_a_worker_that_beats_is_never_reaped(engine: Engine, clock: ManualClock, reaper: Reaper) -> None:
    ada = await open_worker(engine)

    reaped = await look_for(reaper, clock, SESSION_TTL * 4, beating=ada)

    assert reaped == Reaped()
    assert [view.id for view in await engine.sessions.list()] == [ada.session]


class Outage:
    """Stands in front of a store and fails while told to."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.is_down = False

    def __getattr__(self, name: str) -> Any:
        if self.is_down:
            raise Unavailable("the database is away")
        return getattr(self._store, name)


async def outage_of(reaper: Reaper, clock: ManualClock, outage: Outage, seconds: int) -> None:
    """Let passes fail for so many seconds."""
    outage.is_down = True
    for _ in range(seconds):
        clock.advance(1)
        with pytest.raises(Unavailable):
            await reaper.pass_once()
    outage.is_down = False


async def test_an_outage_of_the_store_reaps_nobody(engine: Engine, clock: ManualClock, reaper: Reaper) -> None:
    ada = await open_worker(engine)
    await reaper.pass_once()
    await look_for(reaper, clock, BEAT_EVERY)
    engine.store = outage = Outage(engine.store)

    await outage_of(reaper, clock, outage, 60)
    back = await look_for(reaper, clock, SESSION_TTL)
    later = await look_for(reaper, clock, 1)

    assert back.sessions == ()
    assert later.sessions == (ada.session,)


async def test_a_worker_that_was_overdue_before_an_outage_has_time_for_a_beat_after_it(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    ada = await open_worker(engine)
    await reaper.pass_once()
    await look_for(reaper, clock, SESSION_TTL - 1)
    engine.store = outage = Outage(engine.store)

    await outage_of(reaper, clock, outage, 60)
    back = await look_for(reaper, clock, BEAT_EVERY + 1)
    await ada.beat()
    saved = await look_for(reaper, clock, SESSION_TTL)

    assert back.sessions == saved.sessions == ()


async def test_a_dead_worker_is_reaped_though_outages_keep_coming(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    ada = await open_worker(engine)
    engine.store = outage = Outage(engine.store)
    reaped: list[Reaped] = []

    for _ in range(5):  # the store is there for ten seconds at a time, never for a TTL
        await reaper.pass_once()
        reaped.append(await look_for(reaper, clock, 10))
        await outage_of(reaper, clock, outage, 3)

    assert [session for each in reaped for session in each.sessions] == [ada.session]


async def test_a_worker_that_beats_between_outages_is_never_reaped(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    ada = await open_worker(engine)
    engine.store = outage = Outage(engine.store)

    for _ in range(20):
        await reaper.pass_once()
        assert await look_for(reaper, clock, 10) == Reaped()
        await outage_of(reaper, clock, outage, 3)
        await ada.beat()


async def test_outages_that_leave_no_time_for_a_beat_reap_nobody(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    await open_worker(engine)
    engine.store = outage = Outage(engine.store)

    for _ in range(60):
        await reaper.pass_once()
        assert await look_for(reaper, clock, BEAT_EVERY) == Reaped()
        await outage_of(reaper, clock, outage, 1)


async def test_a_suspended_observer_gives_everyone_a_full_ttl_again(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    ada = await open_worker(engine)
    await reaper.pass_once()

    clock.advance(3600)
    awake = await reaper.pass_once()
    soon = await look_for(reaper, clock, SESSION_TTL - 1)
    later = await look_for(reaper, clock, 1)

    assert awake.sessions == soon.sessions == ()
    assert later.sessions == (ada.session,)


async def test_a_new_observer_has_to_watch_for_a_whole_ttl(engine: Engine, clock: ManualClock) -> None:
    await open_worker(engine)
    clock.advance(3600)

    reaped = await Reaper(engine, clock=clock, poison_after=3).pass_once()

    assert reaped.sessions == ()


async def test_tasks_of_a_worker_that_left_are_freed_at_the_next_pass(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    (task,) = await submit(engine)
    ada = await open_worker(engine)
    await ada.claim()
    await ada.gateway.close_session(ada.session)
    clock.advance(1)

    reaped = await reaper.pass_once()

    assert [hint.task for hint in reaped.requeued] == [task]


async def test_a_task_whose_claim_was_lost_is_given_back_without_a_crash(
    engine: Engine, clock: ManualClock, reaper: Reaper
) -> None:
    (task,) = await submit(engine)
    ada = await open_worker(engine)
    await ada.claim()
    ada.held.clear()  # the answer never arrived

    for _ in range(3):
        clock.advance(1)
        await ada.beat()
    reaped = await reaper.pass_once()
    view = await engine.queries.get(task)

    assert reaped.ghosts == 1
    assert (view.state, view.crashes, view.attempt) == (State.QUEUED, 0, 0)


async def test_a_task_that_takes_its_workers_down_is_failed_as_poison(engine: Engine, clock: ManualClock) -> None:
    (task,) = await submit(engine)
    reaper = Reaper(engine, clock=clock, poison_after=2)

    for _ in range(2):
        worker = await open_worker(engine)
        assert await worker.claim()
        await reaper.pass_once()
        await look_for(reaper, clock, SESSION_TTL + 1)

    assert (await engine.queries.get(task)).state is State.FAILED
