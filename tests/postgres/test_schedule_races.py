"""Several schedulers on one database: what one of them has just done must not be done again by another.

A statement that looks for rows to lock may begin before another scheduler's commit and reach its rows after it: it then
gets the new version of the row that it locks, and the old version of everything else.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

import asyncpg
import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.firing_policy import Overlap
from drumline.core.schedule import RunKind, RunState
from drumline.core.task import TaskRequest
from drumline.ports.schedules import Definition, NewRun, ScheduleChange
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.statements import SQL
from tests.postgres.polling import until
from tests.schedule_factories import add, fire, get, order, runs_of

T = TypeVar("T")

pytestmark = pytest.mark.services

GATE = 4711
"""The number of a lock that a statement is made to wait for."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def stores(postgres_url: str, clock: ManualClock) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """Two processes on one database."""
    ada, bob = [await PostgresStore.open(postgres_url, clock=clock) for _ in range(2)]
    yield ada, bob
    await ada.close()
    await bob.close()


class Gate:
    """Holds a statement up once it has begun to look, and before it has locked anything."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def held_up(self, name: str, before: str, work: Awaitable[T]) -> AsyncIterator[asyncio.Future[T]]:
        """Begin some work, and let its statement go on at the end of the block."""
        text = SQL[name].text
        SQL[name].text = text.replace(before, f"(SELECT pg_advisory_xact_lock({GATE})) IS NOT NULL AND {before}", 1)
        await self._connection.execute("SELECT pg_advisory_lock($1)", GATE)
        working = asyncio.ensure_future(work)
        await until(self._is_waited_for)
        SQL[name].text = text
        yield working
        await self._connection.execute("SELECT pg_advisory_unlock($1)", GATE)

    async def _is_waited_for(self) -> bool:
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted"
        return bool(await self._connection.fetchval(waits, GATE))


@pytest.fixture
async def gate(postgres_url: str) -> AsyncIterator[Gate]:
    connection = await asyncpg.connect(postgres_url)
    yield Gate(connection)
    await connection.close()


async def test_a_run_that_waited_is_started_by_one_scheduler(
    stores: tuple[PostgresStore, PostgresStore], clock: ManualClock, gate: Gate
) -> None:
    ada, bob = stores
    view = await add(ada, clock, interval=1, overlap=Overlap.QUEUE)
    for _ in range(3):
        clock.advance(1)
        await fire(ada)
    first = (await get(ada, view.id)).last_task
    assert first is not None
    await ada.control.cancel([first])

    async with gate.held_up("lock_queued_runs", "live.waiting > 0", bob.firing.start_runs(order())) as starting:
        here = await ada.firing.start_runs(order())
    there = await starting

    started = [run.task for run in await runs_of(ada, view.id) if run.state is RunState.STARTED]
    assert (len(here.tasks), len(there.tasks)) == (1, 0)
    assert started == [first, here.tasks[0][0].id]


async def test_a_run_that_was_triggered_just_now_is_the_previous_one(
    stores: tuple[PostgresStore, PostgresStore], clock: ManualClock, gate: Gate
) -> None:
    ada, bob = stores
    view = await add(ada, clock, interval=1, overlap=Overlap.SKIP)
    clock.advance(1)

    async with gate.held_up("lock_due_schedules", "live.due_at <=", fire(bob)) as firing:
        await ada.firing.add_runs(view.id, [NewRun(fire_time=Instant(clock.now() + 1), kind=RunKind.TRIGGER)], order())
    fired = await firing

    assert [run.state for run in fired.runs] == [RunState.SKIPPED]


async def test_a_firing_makes_what_the_schedule_was_changed_to_just_now(
    stores: tuple[PostgresStore, PostgresStore], clock: ManualClock, gate: Gate
) -> None:
    ada, bob = stores
    view = await add(ada, clock, interval=1)
    clock.advance(1)
    target = type(view.target)(task=TaskRequest(name="other"))
    definition = Definition(name=view.name, rule=view.rule, policy=view.policy, target=target)

    async with gate.held_up("lock_due_schedules", "live.due_at <=", fire(bob)) as firing:
        await ada.schedules.change_schedules(
            [ScheduleChange(id=view.id, version=1, word="edited", definition=definition)]
        )
    fired = await firing

    assert [task.lane.name for task, _ in fired.tasks] == ["other"]
