import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from drumline.core.clock import Instant, ManualClock, SystemClock
from drumline.core.ids import SessionId
from drumline.core.session import Beat, SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.engine.claim import LATE_SECONDS
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.engine.waiting import Waiter, Waiters
from drumline.ports.store import Claim, ClaimRequest, Hint
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.factories import new_id, request, submit

A_WHILE = 20.0
"""Longer than anything here should take; shorter than the safety net these engines poll at."""


async def patient_engine() -> tuple[Engine, LocalGateway]:
    engine = Engine(await SqliteStore.open(":memory:"), NoQueue(), EngineOptions(poll=3600))
    return engine, LocalGateway(engine)


def worker(*queues: str) -> SessionSpec:
    return SessionSpec(host="h", pid=1, version="0", queues=queues, types=(TaskType(name="work"),), capacity=1)


def waiter(*queues: str) -> Waiter:
    return Waiter((queues, ("work",), None))


async def idle(engine: Engine, claims: int) -> None:
    """Wait until so many claimers sleep."""
    async with asyncio.timeout(A_WHILE):
        while len(engine._waiters._idle) < claims:  # noqa: ASYNC110 - nothing tells that somebody fell asleep
            await asyncio.sleep(0)
        while not engine._waiters._watches or engine.claims._batcher._flights:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0)


async def test_an_idle_claimer_is_woken_by_a_submission() -> None:
    engine, gateway = await patient_engine()
    claiming = asyncio.create_task(gateway.claim(await gateway.open_session(worker()), limit=1, wait=60))
    await idle(engine, 1)

    submitted = await engine.submissions.submit(request())

    async with asyncio.timeout(A_WHILE):
        (claimed,) = await claiming
    assert claimed.lease.task == submitted.id
    await engine.close()


async def test_a_claimer_wakes_when_a_delayed_task_falls_due() -> None:
    engine, gateway = await patient_engine()
    claiming = asyncio.create_task(gateway.claim(await gateway.open_session(worker()), limit=1, wait=60))
    await idle(engine, 1)

    await engine.submissions.submit(request(delay=0.05))

    async with asyncio.timeout(A_WHILE):
        assert len(await claiming) == 1
    await engine.close()


async def test_a_claimer_wakes_for_a_delayed_task_that_was_there_before_it() -> None:
    engine, gateway = await patient_engine()
    await engine.submissions.submit(request(delay=0.05))

    async with asyncio.timeout(A_WHILE):
        assert len(await gateway.claim(await gateway.open_session(worker()), limit=1, wait=60)) == 1
    await engine.close()


async def test_each_of_many_claimers_gets_its_task() -> None:
    engine, gateway = await patient_engine()
    sessions = [await gateway.open_session(worker()) for _ in range(20)]
    claiming = [asyncio.create_task(gateway.claim(session, limit=1, wait=60)) for session in sessions]
    await idle(engine, 20)

    await asyncio.gather(*(engine.submissions.submit(request()) for _ in range(20)))

    async with asyncio.timeout(A_WHILE):
        assert [len(claimed) for claimed in await asyncio.gather(*claiming)] == [1] * 20
    await engine.close()


async def test_resuming_a_queue_wakes_those_who_wait() -> None:
    engine, gateway = await patient_engine()
    await engine.control.pause_queue("default", tenant="default")
    await engine.submissions.submit(request())
    claiming = asyncio.create_task(gateway.claim(await gateway.open_session(worker()), limit=1, wait=60))
    await idle(engine, 1)

    await engine.control.resume_queue("default", tenant="default")

    async with asyncio.timeout(A_WHILE):
        assert len(await claiming) == 1
    await engine.close()


async def test_a_claim_without_patience_returns_at_once() -> None:
    engine, gateway = await patient_engine()

    assert await gateway.claim(await gateway.open_session(worker()), limit=1, wait=0) == ()

    await engine.close()


async def test_a_cancelled_claimer_waits_no_more() -> None:
    engine, gateway = await patient_engine()
    claiming = asyncio.create_task(gateway.claim(await gateway.open_session(worker()), limit=1, wait=60))
    await idle(engine, 1)

    claiming.cancel()
    await asyncio.wait({claiming})

    assert len(engine._waiters._idle) == 0
    await engine.close()


async def test_a_claimer_that_leaves_before_its_answer_gives_its_tasks_back() -> None:
    engine, gateway = await patient_engine()
    submitted = await engine.submissions.submit(request())
    session = await gateway.open_session(worker())
    claiming = asyncio.create_task(gateway.claim(session, limit=1, wait=60))
    while not engine.claims._batcher._flights:  # noqa: ASYNC110 - nothing tells that a claim took off
        await asyncio.sleep(0)

    claiming.cancel()
    await asyncio.wait({claiming})
    await engine.claims.drained()

    view = await engine.queries.get(submitted.id)
    assert (view.state, view.attempt) == (State.QUEUED, 0)
    assert len(await gateway.claim(session, limit=1, wait=0)) == 1
    await engine.close()


def test_a_wake_up_reaches_only_those_who_serve_the_queue() -> None:
    waiters = Waiters()
    mail, any_queue, print_ = waiter("mail"), waiter(), waiter("print")
    for each in (mail, print_, any_queue):
        waiters.add(each)

    waiters.wake("print", 5)

    assert [each.is_woken for each in (mail, any_queue, print_)] == [False, True, True]


def test_one_task_wakes_one_claimer_the_longest_waiting() -> None:
    waiters = Waiters()
    first, second = waiter(), waiter()
    waiters.add(first)
    waiters.add(second)

    waiters.wake("q", 1)

    assert (first.is_woken, second.is_woken) == (True, False)


def test_a_wake_up_that_came_too_late_is_passed_on() -> None:
    waiters = Waiters()
    leaving, staying = waiter(), waiter()
    waiters.add(leaving)
    waiters.wake("q", 1)
    waiters.add(staying)

    waiters.remove(leaving)

    assert staying.is_woken


async def test_of_many_who_wait_for_a_delayed_task_only_one_looks_for_it() -> None:
    engine, gateway = await patient_engine()
    sessions = [await gateway.open_session(worker()) for _ in range(50)]
    claiming = [asyncio.create_task(gateway.claim(session, limit=1, wait=60)) for session in sessions]
    await idle(engine, 50)
    asked: list[ClaimRequest] = []
    claim = engine.claims._batcher._flush

    async def counted(requests: list[ClaimRequest]) -> Sequence[Claim]:
        asked.extend(requests)
        return await claim(requests)

    engine.claims._batcher._flush = counted
    await engine.submissions.submit(request(delay=0.05))

    async with asyncio.timeout(A_WHILE):
        done, waiting = await asyncio.wait(claiming, return_when=asyncio.FIRST_COMPLETED)
    # One is woken by the submission and learns the time, one takes the task then, and one keeps watch after it.
    assert len(asked) <= 4
    assert len(done) == 1
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)
    await engine.close()


async def test_many_tasks_that_fall_due_at_once_are_handed_to_all_who_wait() -> None:
    engine, gateway = await patient_engine()
    sessions = [await gateway.open_session(worker()) for _ in range(20)]
    due = datetime.now(UTC) + timedelta(seconds=0.1)
    await asyncio.gather(*(engine.submissions.submit(request(run_at=due)) for _ in range(20)))

    claiming = [asyncio.create_task(gateway.claim(session, limit=1, wait=60)) for session in sessions]

    async with asyncio.timeout(A_WHILE):
        assert [len(claimed) for claimed in await asyncio.gather(*claiming)] == [1] * 20
    await engine.close()


async def test_when_the_one_who_keeps_watch_leaves_another_does() -> None:
    engine, gateway = await patient_engine()
    first, second = [await gateway.open_session(worker()) for _ in range(2)]
    leaving = asyncio.create_task(gateway.claim(first, limit=1, wait=60))
    await idle(engine, 1)
    staying = asyncio.create_task(gateway.claim(second, limit=1, wait=60))
    await idle(engine, 2)
    await submit(engine.store, delay=0.05)  # nobody is told

    leaving.cancel()

    async with asyncio.timeout(A_WHILE):
        assert len(await staying) == 1
    await engine.close()


async def test_a_task_that_is_due_before_the_next_look_is_looked_for_in_time() -> None:
    waiters = Waiters()
    early, late = waiter(), waiter()
    waiters.add(late)
    waiters.add(early)
    watching = asyncio.create_task(waiters.wait(late, left=60, until=60))
    await asyncio.sleep(0)

    async with asyncio.timeout(A_WHILE):
        await waiters.wait(early, left=60, until=0.01)

    watching.cancel()
    assert early.looks_for_all


class ClockAhead(SystemClock):
    """A machine's clock that is some seconds ahead of the store's."""

    def now(self) -> Instant:
        return Instant(super().now() + 10_000)


async def test_a_clock_that_is_ahead_of_the_store_s_does_not_make_claimers_ask_without_end() -> None:
    engine = Engine(await SqliteStore.open(":memory:"), NoQueue(), EngineOptions(clock=ClockAhead()))
    gateway = LocalGateway(engine)
    session = await gateway.open_session(worker())
    await engine.submissions.submit(request(delay=5))
    asked = 0
    claim = engine.claims._batcher._flush

    async def counted(requests: list[ClaimRequest]) -> Sequence[Claim]:
        nonlocal asked
        asked += 1
        return await claim(requests)

    engine.claims._batcher._flush = counted

    assert await gateway.claim(session, limit=1, wait=0.3) == ()

    assert 2 <= asked <= 12
    await engine.close()


def handed(waiters: Waiters, session: SessionId) -> Hint | None:
    """Hand a session a task, and return it if it was taken."""
    hint = Hint(new_id(), Lane("default", "q", "work", 0), Instant(0))
    return hint if waiters.hand(session, hint) else None


def test_a_task_is_handed_to_a_claimer_that_sleeps_and_to_no_other() -> None:
    waiters = Waiters()
    with waiters.waiting(worker(), SessionId(1)) as first, waiters.waiting(worker(), SessionId(2)) as second:
        hint = handed(waiters, SessionId(1))

        assert hint is not None
        assert handed(waiters, SessionId(1)) is None
        assert (first.take(), second.take()) == ((hint.task,), None)


class Pushed(NoQueue):
    """Remembers the hints that were pushed."""

    def __init__(self) -> None:
        self.hints: list[Hint] = []

    async def push(self, hints: Sequence[Hint]) -> bool:
        self.hints += hints
        return False


async def test_what_was_handed_to_a_claimer_that_leaves_is_offered_again() -> None:
    queue = Pushed()
    engine = Engine(await SqliteStore.open(":memory:"), queue, EngineOptions(poll=3600))
    session = await engine.sessions.open(worker())
    claiming = asyncio.create_task(LocalGateway(engine).claim(session, limit=1, wait=60))
    await idle(engine, 1)

    hint = handed(engine._waiters, session)
    claiming.cancel()
    await asyncio.wait({claiming})
    await engine._offers.drained()

    assert queue.hints == [hint]
    assert handed(engine._waiters, session) is None
    await engine.close()


async def test_what_was_released_while_its_claim_was_under_way_is_not_begun(
    engine: Engine, gateway: LocalGateway, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await gateway.open_session(worker())
    released, held = [(await engine.submissions.submit(request())).id for _ in range(2)]
    asked = engine.store.claim

    async def answers_late(requests: Sequence[ClaimRequest]) -> list[Claim]:
        claims = await asked(requests)
        (kept,) = [lease for claim in claims for lease in claim.leases if lease.task == held]
        for _ in range(2):
            clock.advance(LATE_SECONDS)
            await gateway.beat(Beat(session=session, held=(kept,)))
        await engine.store.sessions.reap([], poison_after=5)
        return claims

    monkeypatch.setattr(engine.store, "claim", answers_late)

    assert [task.lease.task for task in await gateway.claim(session, limit=2, wait=0)] == [held]
    assert (await engine.queries.get(released)).state is State.QUEUED


async def test_a_late_claim_of_which_nothing_is_left_is_made_anew(
    engine: Engine, gateway: LocalGateway, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await gateway.open_session(worker())
    submitted = await engine.submissions.submit(request())
    asked = engine.store.claim

    async def answers_late_once(requests: Sequence[ClaimRequest]) -> list[Claim]:
        monkeypatch.setattr(engine.store, "claim", asked)
        claims = await asked(requests)
        for _ in range(2):
            clock.advance(LATE_SECONDS)
            await gateway.beat(Beat(session=session, held=()))
        await engine.store.sessions.reap([], poison_after=5)
        return claims

    monkeypatch.setattr(engine.store, "claim", answers_late_once)

    async with asyncio.timeout(A_WHILE):
        (task,) = await gateway.claim(session, limit=1, wait=60)
    assert task.lease.task == submitted.id
    assert task.lease.epoch > 1
