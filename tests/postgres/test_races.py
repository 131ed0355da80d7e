"""Pairs of acts on one task, from two processes at the same moment: the store stays whole whatever the order.

Each pair is run many times at once, so that it meets in every way that timing allows; and then in lock-step: a third
party holds the task's locks until both acts wait for them, in a known order.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Final

import asyncpg
import pytest

from drumline.core.attempt import ENDING
from drumline.core.errors import DrumlineError, Fenced
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.state import TERMINAL, Act, State
from drumline.core.task import TaskView
from drumline.ports.store import Change, Changed, Reaped, Settled, Settlement
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.connection import Connection
from tests.factories import OOPS, beat, claim, open_session, settle, submit
from tests.postgres.polling import until

ROUNDS: Final = 6
POISON_AFTER: Final = 3


@dataclass
class Case:
    """A task, and who may do something to it."""

    task: TaskId
    ada: SessionId
    """The session that holds it, if it is running."""
    bob: SessionId
    lease: Lease | None
    before: TaskView


Deed = Callable[[PostgresStore, Case], Awaitable[object]]


def settling(act: Act) -> Deed:
    async def deed(store: PostgresStore, case: Case) -> object:
        lease = case.lease or Lease(case.task, case.before.epoch, 1)
        (answer,) = await store.settle([Settlement(lease=lease, act=act, error=OOPS)])
        return answer

    return deed


async def completing_falsely(store: PostgresStore, case: Case) -> object:
    """Complete under the right epoch, with another claim's nonce."""
    epoch = case.lease.epoch if case.lease else case.before.epoch
    (answer,) = await store.settle([Settlement(lease=Lease(case.task, epoch, 1), act=Act.COMPLETE)])
    assert isinstance(answer, Fenced), "a nonce of nobody's was accepted"
    return None


async def claiming(store: PostgresStore, case: Case) -> object:
    return await claim(store, case.bob, hints=(case.task,))


async def claiming_due(store: PostgresStore, case: Case) -> object:
    return await claim(store, case.bob, limit=1000)


async def cancelling(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.control.cancel([case.task])
    return answer


async def cancelling_by_force(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.control.cancel([case.task], force=True)
    return answer


async def rescheduling(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.control.reschedule([Change(task=case.task, delay_ms=0, priority=5)])
    return answer


async def retrying(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.control.retry([case.task])
    return answer


async def reaping(store: PostgresStore, case: Case) -> object:
    return await store.sessions.reap([(case.ada, 0)], poison_after=POISON_AFTER)


async def beating(store: PostgresStore, case: Case) -> object:
    (reply,) = await store.sessions.beat([beat(case.ada, *([case.lease] if case.lease else []))])
    return reply


DEEDS: Final[dict[str, Deed]] = {
    "claim": claiming,
    "claim due": claiming_due,
    "complete": settling(Act.COMPLETE),
    "fail": settling(Act.FAIL),
    "complete falsely": completing_falsely,
    "back off": settling(Act.BACK_OFF),
    "release": settling(Act.RELEASE),
    "cancel": cancelling,
    "force cancel": cancelling_by_force,
    "reschedule": rescheduling,
    "retry": retrying,
    "reap": reaping,
    "beat": beating,
}
WAITING: Final = ("claim", "complete", "back off", "release", "cancel", "force cancel", "reschedule", "retry", "reap")
"""The deeds that wait for a task's locks; the others pass over it or do not lock it."""
STARTS: Final = ("queued", "running", "failed")


async def case_in(store: PostgresStore, start: str) -> Case:
    """Make a task that stands where the race begins."""
    ada, bob = await open_session(store), await open_session(store)
    task = await submit(store)
    lease = None
    if start != "queued":
        (claimed,) = await claim(store, ada, hints=(task,))
        lease = claimed.lease
    if start == "failed" and lease is not None:
        await settle(store, lease, Act.FAIL)
    (before,) = await store.queries.get([task])
    assert before is not None
    return Case(task, ada, bob, lease, before)


async def check(store: PostgresStore, connection: Connection, case: Case, answers: dict[str, object]) -> None:
    """Hold the outcome of a race to what must be true of every outcome."""
    (after,) = await store.queries.get([case.task])
    assert after is not None
    history = await store.queries.attempts(case.task)
    epochs = [attempt.epoch for attempt in history]
    endings = [attempt for attempt in history if attempt.outcome in ENDING]
    retries = sum(isinstance(answer, Changed) for deed, answer in answers.items() if deed.startswith("retry"))
    told = await connection.fetchval(
        "SELECT count(*) FROM drumline.outbox, unnest(tasks, states) AS e (task, state) WHERE task = $1 AND state >= 3",
        case.task,
    )

    assert after.epoch >= case.before.epoch, "an epoch fell"
    assert epochs == sorted(set(epochs)), "two attempts share an epoch"
    assert len(endings) - (case.before.state is State.FAILED) <= 1 + retries, "a task ended twice"
    assert told == len(endings), "an end was not told, or told twice"
    if after.state in TERMINAL:
        assert history[-1].outcome == int(after.state), "the last attempt is not the end"
    else:
        assert all(epoch <= after.epoch for epoch in epochs)
    granted = [case.lease.epoch] if case.lease else []
    granted += [each.epoch for each in leases_of(case, answers)]
    assert set(granted) <= set(epochs), "an execution has left no trace: a task was taken from under its worker"
    assert len(set(granted)) == len(granted), "two leases of one epoch"
    check_endings(case, after, answers)


def leases_of(case: Case, answers: dict[str, object]) -> list[Lease]:
    """Return the leases on the task that the racers were given."""
    claimed = [each for answer in answers.values() if isinstance(answer, list) for each in answer]
    return [each.lease for each in claimed if each.lease.task == case.task]


def check_endings(case: Case, after: TaskView, answers: dict[str, object]) -> None:
    """A lease is good for one ending: whoever comes second is fenced, or told what the first did."""
    freed = any(
        case.task in {*answer.poisoned, *(hint.task for hint in answer.requeued)}
        for answer in answers.values()
        if isinstance(answer, Reaped)
    )
    settled = [answer.state for answer in answers.values() if isinstance(answer, Settled)]
    if case.lease is not None and case.before.state is State.RUNNING:
        assert len(set(settled)) <= 1, "one lease has two endings"
    forced = any(
        deed.startswith("force") and isinstance(answer, Changed) and answer.state is State.CANCELLED
        for deed, answer in answers.items()
    )
    if case.before.state is State.RUNNING and freed:
        assert settled == [], "taken from its worker, and settled by it all the same"
    if case.before.state is State.RUNNING and forced:  # a task that was given back may still be cancelled
        assert not TERMINAL.intersection(settled), "cancelled by force, and ended by its worker all the same"
    if State.QUEUED in settled and case.lease is not None:
        assert after.epoch > case.lease.epoch, "a task given back kept its epoch"
    if case.before.state is State.QUEUED:
        assert settled == [], "a lease that was never given was accepted"


async def finish(store: PostgresStore, case: Case) -> None:
    """Bring the task to its end: whatever a race leaves behind can still be worked with."""
    await store.sessions.reap([(case.ada, 0), (case.bob, 0)], poison_after=POISON_AFTER)
    (view,) = await store.queries.get([case.task])
    assert view is not None
    if view.state is State.QUEUED:
        eve = await open_session(store)
        await store.control.reschedule([Change(task=case.task, delay_ms=0)])
        (claimed,) = await claim(store, eve, hints=(case.task,))
        await settle(store, claimed.lease, Act.COMPLETE)
    elif view.state is State.RUNNING:
        (answer,) = await store.control.cancel([case.task], force=True)
        assert isinstance(answer, Changed)
    (view,) = await store.queries.get([case.task])
    assert view is not None
    assert view.state in TERMINAL


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(postgres_url)
    yield opened
    await opened.close()


@pytest.mark.parametrize("mine", sorted(DEEDS))
async def test_two_acts_at_once_leave_a_task_whole(
    store: PostgresStore, other: PostgresStore, connection: Connection, mine: str
) -> None:
    for theirs, start in product([deed for deed in DEEDS if deed >= mine], STARTS):
        with saying(f"{mine} and {theirs} of a {start} task"):
            cases = [await case_in(store, start) for _ in range(ROUNDS)]

            outcomes = await asyncio.gather(*(race(store, other, case, mine, theirs) for case in cases))

            for case, answers in zip(cases, outcomes, strict=True):
                await check(store, connection, case, answers)
                await finish(store, case)


@pytest.mark.parametrize("first", WAITING)
async def test_two_acts_that_wait_for_each_other_come_in_order(
    store: PostgresStore, other: PostgresStore, connection: Connection, first: str
) -> None:
    for second, start in product([deed for deed in WAITING if deed != first], STARTS):
        with saying(f"{first} before {second} of a {start} task"):
            case = await case_in(store, start)

            answers = await in_lock_step(store, other, connection, case, (first, second))

            await check(store, connection, case, answers)
            await finish(store, case)


async def race(store: PostgresStore, other: PostgresStore, case: Case, mine: str, theirs: str) -> dict[str, object]:
    here, there = await asyncio.gather(DEEDS[mine](store, case), DEEDS[theirs](other, case))
    return {f"{mine} here": here, f"{theirs} there": there}


async def in_lock_step(
    store: PostgresStore, other: PostgresStore, connection: Connection, case: Case, deeds: tuple[str, str]
) -> dict[str, object]:
    """Hold the task's locks until both deeds wait for them, the first before the second."""
    await connection.execute("BEGIN")
    await connection.execute("SELECT FROM drumline.task WHERE id = $1 FOR UPDATE", case.task)
    await connection.execute("SELECT FROM drumline.task_live WHERE id = $1 FOR UPDATE", case.task)
    first = asyncio.create_task(run(DEEDS[deeds[0]], store, case))
    await until(lambda: waits_or_done(connection, 1, first))
    second = asyncio.create_task(run(DEEDS[deeds[1]], other, case))
    await until(lambda: waits_or_done(connection, 2 - first.done(), second))
    await connection.execute("COMMIT")
    return {f"{deeds[0]} first": await first, f"{deeds[1]} second": await second}


@contextmanager
def saying(what: str) -> Iterator[None]:
    """Let a failure say which race it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(what)
        raise


async def run(deed: Deed, store: PostgresStore, case: Case) -> object:
    try:
        return await deed(store, case)
    except DrumlineError as error:
        return error


async def waits_or_done(connection: Connection, count: int, task: asyncio.Task[object]) -> bool:
    """Tell whether so many acts wait for a lock, or the one that was started last needed none."""
    await connection.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction the view would never change
    waiting = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    return bool(waiting >= count) or task.done()


async def test_the_same_key_from_two_processes_at_the_same_instant_makes_one_task(
    store: PostgresStore, other: PostgresStore
) -> None:
    keys = [f"key {number}" for number in range(10)]

    async def submit_all(where: PostgresStore, order: list[str]) -> list[TaskId]:
        return [await submit(where, idempotency_key=key) for key in order]

    here, there = await asyncio.gather(submit_all(store, keys), submit_all(other, keys))

    assert here == there
    assert len(set(here)) == 10
