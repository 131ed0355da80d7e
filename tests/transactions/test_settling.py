"""An attempt that completes its task in the transaction of its work: both or neither, and once."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from msgspec import Raw

from drumline import Context, Drumline, Invalid, JobStatus, inject
from drumline.core.errors import Fenced
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.ports.gateway import Report
from drumline.stores.postgres import PostgresStore
from tests.factories import claim, claim_one, open_session, state_of, submit
from tests.harness.sqlite import migrated
from tests.job_factories import status_of_job
from tests.postgres.polling import until
from tests.transactions.world import World

ORDER = "INSERT INTO orders (id) VALUES (7)"


def context_of(claimed: ClaimedTask) -> Context[None]:
    return Context(id=claimed.lease.task, state=None, lease=claimed.lease)


async def running(world: World) -> Context[None]:
    """A task that runs, from the inside."""
    await submit(world.store)
    return context_of(await claim_one(world.store, await open_session(world.store)))


def work(world: World, ctx: Context[None], *, fails: bool = False) -> None:
    """Do the work of a task and complete it in one transaction."""
    with world.transaction() as connection, ctx.settling(connection) as settling:
        connection.execute(ORDER)
        settling.result = {"cents": 700}
        if fails:
            raise ZeroDivisionError


def orders(world: World) -> int:
    connection = world.connect()
    try:
        (count,) = connection.execute("SELECT count(*) FROM orders").fetchone()
        return int(count)
    finally:
        connection.close()


async def test_the_task_completes_with_its_work(world: World) -> None:
    ctx = await running(world)

    await asyncio.to_thread(work, world, ctx)

    (view,) = await world.store.queries.get([ctx.id])
    assert view is not None
    assert (view.state, view.result) == (State.COMPLETED, Raw(b'{"cents":700}'))
    assert orders(world) == 1


@pytest.mark.parametrize(
    "outcome", [Succeeded(Raw(b"1")), Failed(ErrorInfo("Oops", "late"))], ids=["completed", "failed"]
)
async def test_the_report_of_the_worker_is_a_repeated_settlement(world: World, outcome: Any) -> None:
    ctx = await running(world)
    await asyncio.to_thread(work, world, ctx)
    assert ctx.lease is not None

    assert await world.engine.settlements.settle([Report(ctx.lease, outcome)]) == [State.COMPLETED]

    (view,) = await world.store.queries.get([ctx.id])
    assert view is not None
    assert view.result == Raw(b'{"cents":700}')


async def test_a_task_whose_transaction_is_rolled_back_is_still_running(world: World) -> None:
    ctx = await running(world)

    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(work, world, ctx, fails=True)
    connection = world.connect()
    with ctx.settling(connection):
        connection.execute(ORDER)
    connection.rollback()
    connection.close()

    assert await state_of(world.store, ctx.id) is State.RUNNING
    assert orders(world) == 0


async def test_work_that_is_tried_again_after_a_lost_answer_to_the_commit_is_refused(world: World) -> None:
    ctx = await running(world)
    await asyncio.to_thread(work, world, ctx)
    with world.transaction() as connection:
        connection.execute("DELETE FROM orders")

    with pytest.raises(Fenced, match="or was settled before"):
        await asyncio.to_thread(work, world, ctx)

    assert orders(world) == 0


async def test_a_late_worker_cannot_commit_its_work(world: World) -> None:
    ctx = await running(world)
    await world.engine.control.cancel(ctx.id, force=True)

    with pytest.raises(Fenced):
        await asyncio.to_thread(work, world, ctx)

    assert await state_of(world.store, ctx.id) is State.CANCELLED
    assert orders(world) == 0


async def test_the_next_task_of_a_job_is_released_with_it(world: World) -> None:
    app = Drumline("shop", url="http://127.0.0.1:1")

    @app.task(name="work")
    def step(number: int) -> int:
        return number

    with world.transaction() as connection:
        with app.dag("order") as dag:
            dag.add(step, dag.add(step, 1).out)
        job = await dag.asubmit(tx=connection)
    session = await open_session(world.store)
    ctx = context_of(await claim_one(world.store, session))

    await asyncio.to_thread(work, world, ctx)

    (second,) = await claim(world.store, session)
    assert second.options.job == job.id
    await asyncio.to_thread(_complete, world, context_of(second))
    assert await state_of(world.store, second.lease.task) is State.COMPLETED
    assert await status_of_job(world.store, job.id) is JobStatus.COMPLETED


def _complete(world: World, ctx: Context[None]) -> None:
    with world.transaction() as connection, ctx.settling(connection):
        pass


async def test_without_an_attempt_there_is_nothing_to_settle(world: World) -> None:
    with world.transaction() as connection, Context(id=new_id(), state=None).settling(connection):
        connection.execute(ORDER)
    assert orders(world) == 1


def new_id() -> Any:
    return "00000000-0000-7000-8000-000000000000"


async def test_a_result_that_is_not_json_is_refused_before_anything_is_written(world: World) -> None:
    ctx = await running(world)
    connection = world.connect()

    with pytest.raises(Invalid, match=r"result: .*cannot be written as JSON"), ctx.settling(connection) as settling:
        settling.result = object()
    connection.rollback()
    connection.close()


@pytest.mark.services
async def test_asynchronous_drivers_settle_too(shop_postgres: str) -> None:
    store = await PostgresStore.open(shop_postgres)
    session = await open_session(store)
    for number in range(2):
        await submit(store)
        ctx = context_of(await claim_one(store, session))
        if number:
            connection = await asyncpg.connect(shop_postgres)
            async with connection.transaction(), ctx.settling(connection) as settling:
                settling.result = number
            await connection.close()
        else:
            async with await psycopg.AsyncConnection.connect(shop_postgres) as other, ctx.settling(other):
                pass
        assert await state_of(store, ctx.id) is State.COMPLETED
    await store.close()


@pytest.mark.services
async def test_two_transactions_of_one_attempt_commit_their_work_once(shop_postgres: str) -> None:
    store = await PostgresStore.open(shop_postgres)
    await submit(store)
    ctx = context_of(await claim_one(store, await open_session(store)))
    first, second = await asyncpg.connect(shop_postgres), await asyncpg.connect(shop_postgres)

    async def late() -> None:
        async with second.transaction(), ctx.settling(second):
            await second.execute("INSERT INTO orders (id) VALUES (8)")

    async with first.transaction():
        async with ctx.settling(first):
            await first.execute(ORDER)
        waiting = asyncio.create_task(late())
        await until(lambda: store_waits(shop_postgres))
    with pytest.raises(Fenced):
        await waiting

    assert [row[0] for row in await first.fetch("SELECT id FROM orders")] == [7]
    await first.close()
    await second.close()
    await store.close()


async def store_waits(url: str) -> bool:
    """Tell whether a transaction waits for another one."""
    connection = await asyncpg.connect(url)
    found = await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
    await connection.close()
    return bool(found)


def test_a_worker_runs_a_task_that_settles_itself(tmp_path: Path) -> None:
    path = migrated(tmp_path / "drumline.db")
    setup = sqlite3.connect(path)
    setup.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    setup.close()
    app = Drumline("local", data=tmp_path)

    @app.task
    def charge(order: int, *, ctx: Context[None] = inject()) -> int:
        connection = sqlite3.connect(path)
        try:
            with connection, ctx.settling(connection) as settling:
                connection.execute("INSERT INTO orders (id) VALUES (?)", (order,))
                settling.result = order * 100
        finally:
            connection.close()
        return 1

    @app.task(retries=0)
    def export(*, ctx: Context[None] = inject()) -> None:
        ctx.put_artifact("a.csv", b"1")
        connection = sqlite3.connect(path)
        try:
            with connection, ctx.settling(connection):
                pass
        finally:
            connection.close()

    with app.running():
        assert charge.submit(7).result(timeout="30s") == 700
        failed = export.submit()
        with pytest.raises(Exception, match="files: are stored with the worker's report"):
            failed.result(timeout="30s")
