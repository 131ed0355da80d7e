"""What a submission in a caller's transaction is like, and what is refused: as by a server, on both stores."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import psycopg
import pytest
from msgspec import Raw

from drumline import (
    Direct,
    Drumline,
    DrumlineError,
    Invalid,
    JobHandle,
    KeyReused,
    NotCommitted,
    NotFound,
    Status,
    TaskHandle,
    Transaction,
    Unique,
    secret,
)
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.core.task_type import TypeDefaults
from drumline.core.tenant import Quotas
from drumline.sdk.embedded import EngineTransport
from drumline.stores.postgres import PostgresStore
from drumline.transactions.drivers import as_text
from tests.harness.sqlite import migrated
from tests.postgres.shards import Process, join_all
from tests.transactions.world import World

T = TypeVar("T")

app = Drumline("shop", url="http://127.0.0.1:1")


@app.task
def charge(order: int, note: str = "") -> int:
    return order + len(note)


@app.task
def add(a: int, b: int) -> int:
    return a + b


@app.task
def ship(tx: str) -> str:
    return tx


OPTIONS: list[dict[str, Any]] = [
    {},
    {"queue": "billing", "priority": "high"},
    {"retries": 0, "timeout": "5s", "tags": ["money", "eu"], "backoff": 3.0},
    {"key": "order-7"},
    {"run_at": datetime(2100, 1, 1, tzinfo=UTC), "limit_key": "acme", "expires": "1d"},
    {"delay": "1h", "key": "order-8"},
]
COLUMNS = {
    "task": "lane, payload, options, idempotency_key",
    "task_live": "lane, state, epoch, attempt",
    "idempotency": "key, tenant, fingerprint",
}


@pytest.fixture
async def own(world: World) -> AsyncIterator[Drumline[None]]:
    """The app, connected to the store whose database the caller has a transaction on."""
    app.use(EngineTransport(world.engine, asyncio.get_running_loop()))
    yield app
    app.close()


async def apart(work: Callable[[], T]) -> T:
    """Run what blocks in a thread, as a program without an event loop does."""
    return await asyncio.to_thread(work)


def submitted(world: World, **options: Any) -> TaskHandle[int]:
    with world.transaction() as connection:
        return charge.options(tx=connection, **options).submit(7)


async def test_the_rows_are_those_that_a_server_writes(world: World) -> None:
    requests = [charge.options(**options).call(7, note='say "hi" \\ {x}').request for options in OPTIONS]
    for request in requests:
        await world.engine.submissions.submit(request)
    by_server = {table: world.rows(table, columns) for table, columns in COLUMNS.items()}
    with world.transaction() as connection:
        for table in ("task", "task_live", "idempotency", "task_expiry"):
            connection.execute(f"DELETE FROM {table if world.is_sqlite else f'drumline.{table}'}")

    def submit() -> None:
        with world.transaction() as connection:
            for options in OPTIONS:
                charge.options(tx=connection, **options).submit(7, note='say "hi" \\ {x}')

    await apart(submit)

    ours = {table: world.rows(table, columns) for table, columns in COLUMNS.items()}
    assert len(ours["task"]) == len(OPTIONS)
    assert ours == by_server


@pytest.mark.usefixtures("own")
async def test_a_handle_knows_its_id_and_says_that_nothing_is_committed_yet(world: World) -> None:
    connection = world.connect()
    try:
        handle = await charge.asubmit(7, tx=connection)
        with pytest.raises(NotCommitted, match=f"task {handle.id} is not stored: the transaction .* is not committed"):
            await handle.aresult("1s")
        with pytest.raises(NotFound):
            await handle.ainfo()
        connection.commit()
        assert await handle.astatus() is Status.QUEUED
    finally:
        connection.close()


@pytest.mark.usefixtures("own")
async def test_the_handle_of_a_job_says_so_too(world: World) -> None:
    connection = world.connect()
    try:
        handle = await _job(connection)
        with pytest.raises(NotCommitted, match=f"the job {handle.id} is not stored"):
            await handle.ainfo()
        connection.commit()
        assert [node.status for node in await handle.anodes()] == [Status.QUEUED, Status.PENDING]
    finally:
        connection.close()


async def _job(connection: Any) -> JobHandle[dict[str, Any]]:
    with app.dag("order") as dag:
        first = dag.add(add, 1, 2)
        dag.add(add, first.out, 3)
    return await dag.asubmit(tx=connection)


async def test_a_key_is_one_task_whether_it_comes_by_a_server_or_in_a_transaction(world: World) -> None:
    request = charge.options(key="order-7").call(7).request
    first = await world.engine.submissions.submit(request)

    assert (await apart(lambda: submitted(world, key="order-7"))).id == first.id
    with pytest.raises(KeyReused, match="submitted differently"):
        await apart(lambda: submitted(world, key="order-7", queue="other"))

    second = await apart(lambda: submitted(world, key="order-8"))
    again = await world.engine.submissions.submit(charge.options(key="order-8").call(7).request)
    assert (again.id, again.created) == (second.id, False)


async def test_what_a_worker_declares_holds_and_payloads_are_checked(world: World) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
    declared = TaskType(name="pay", schema=schema, defaults=TypeDefaults(queue="billing", retries=0, tags=("money",)))
    await world.engine.sessions.open(
        SessionSpec(host="h", pid=1, version="1", queues=(), types=(declared,), capacity=1)
    )

    def submit(payload: object) -> TaskHandle[Any]:
        with world.transaction() as connection:
            return app.submit_task("pay", payload, tx=connection)

    handle = await apart(lambda: submit({"order": 7}))
    (view,) = await world.store.queries.get([handle.id])
    assert view is not None
    assert (view.lane.queue, view.options.retries, view.options.tags) == ("billing", 0, ("money",))
    with pytest.raises(Invalid) as refused:
        await apart(lambda: submit({"order": "seven"}))
    assert refused.value.field == "payload.order"


async def test_quotas_secrets_and_tenants_are_checked(world: World) -> None:
    await world.store.tenants.add_tenant("acme", Quotas(queued=1, payload_bytes=100))

    def submit(payload: object, tenant: str = "acme") -> TaskHandle[Any]:
        with world.transaction() as connection:
            return app.submit_task("pay", payload, tx=Transaction(connection, tenant=tenant))

    handle = await apart(lambda: submit({}))
    (view,) = await world.store.queries.get([handle.id])
    assert view is not None
    assert view.lane.tenant == "acme"
    for payload, tenant, told in (
        ({}, "acme", "has 1 tasks waiting, its quota"),
        ({"text": "x" * 100}, "acme", "the quota of tenant acme is 100"),
        ({"password": secret("db")}, "default", "names the secret 'db', which is not there"),
        ({}, "nobody", "there is no tenant nobody"),
    ):
        with pytest.raises(DrumlineError, match=told):
            await apart(lambda payload=payload, tenant=tenant: submit(payload, tenant))  # type: ignore[misc]
    assert len(world.rows("task", "id")) == 1


async def test_many_are_submitted_each_with_its_own_answer(world: World) -> None:
    def submit() -> list[TaskHandle[int] | DrumlineError]:
        with world.transaction() as connection:
            calls = [charge.call(1), charge.options(queue="no spaces").call(2), charge.call(3)]
            return app.submit_many(calls, tx=connection)

    first, wrong, last = await apart(submit)
    assert isinstance(first, TaskHandle)
    assert isinstance(last, TaskHandle)
    assert isinstance(wrong, Invalid)
    assert wrong.field == "tasks[1].queue"
    assert {str(id_) for (id_,) in world.rows("task", "id")} == {first.id, last.id}


@pytest.mark.usefixtures("own")
async def test_a_parameter_called_tx_is_the_tasks_own(world: World) -> None:
    handle = await ship.asubmit(tx="by sea")
    assert b"by sea" in bytes((await handle.ainfo()).payload)

    def submit() -> TaskHandle[str]:
        with world.transaction() as connection:
            return ship.options(tx=connection).submit(tx="by air")

    handle = await apart(submit)
    assert b"by air" in bytes((await handle.ainfo()).payload)


@pytest.mark.usefixtures("own")
async def test_a_collapse_rule_is_refused_since_its_key_would_stay_locked(world: World) -> None:
    def submit() -> None:
        with world.transaction() as connection:
            charge.options(tx=connection, collapse=Unique("1d")).submit(7)

    with pytest.raises(Invalid, match="in a transaction of the caller") as caught:
        await apart(submit)

    assert caught.value.field == "collapse"


@pytest.mark.usefixtures("own")
async def test_a_chain_and_options_take_a_transaction(world: World) -> None:
    def submit() -> JobHandle[int]:
        with world.transaction() as connection:
            return add.call(1, 2).then(add, 3).submit("sum", tx=connection)

    assert len(await (await apart(submit)).anodes()) == 2


def test_what_is_no_connection_is_refused_with_what_would_do() -> None:
    with pytest.raises(TypeError, match=r"tx must be a connection of psycopg 3, .* not builtins\.str"):
        charge.submit(7, tx="postgresql://localhost")


def test_a_connection_without_a_transaction_is_refused(shop_sqlite: str, tmp_path: Path) -> None:
    connection = sqlite3.connect(shop_sqlite.removeprefix("sqlite:///"), isolation_level=None)
    with pytest.raises(Invalid, match="tx: has no open transaction"):
        charge.submit(7, tx=connection)
    connection.close()
    other = sqlite3.connect(tmp_path / "other.db")
    with pytest.raises(Invalid, match=r"neither Drumline's tables nor an outbox.*drumline outbox install"):
        charge.submit(7, tx=other)
    other.close()


def test_a_connection_of_the_caller_is_left_as_it_was(shop_sqlite: str) -> None:
    connection = sqlite3.connect(shop_sqlite.removeprefix("sqlite:///"))
    connection.row_factory = sqlite3.Row
    charge.options(key="a").submit(7, tx=connection)
    assert connection.row_factory is sqlite3.Row
    assert connection.in_transaction
    connection.close()


@pytest.mark.services
async def test_connections_to_postgres_without_a_transaction_are_refused(shop_postgres: str) -> None:
    connection = await asyncpg.connect(shop_postgres)
    with pytest.raises(Invalid, match="tx: has no open transaction"):
        await charge.asubmit(7, tx=connection)
    async with connection.transaction():
        with pytest.raises(TypeError, match="tx is asynchronous: use the async twin"):
            await apart(lambda: charge.submit(7, tx=connection))
    await connection.close()
    with psycopg.connect(shop_postgres, autocommit=True) as blocking:
        with pytest.raises(Invalid, match="tx: has no open transaction"):
            await charge.asubmit(7, tx=blocking)
        with blocking.transaction():
            await charge.asubmit(7, tx=blocking)
    with psycopg.connect(shop_postgres) as failed:
        with pytest.raises(psycopg.Error):
            failed.execute("SELECT 1 / 0")
        with pytest.raises(DrumlineError, match="a transaction that has failed: roll it back first"):
            await charge.asubmit(7, tx=failed)


@pytest.mark.services
async def test_a_shard_stores_what_it_takes_new_work_of_and_no_keys(shard_urls: tuple[str, ...]) -> None:
    stores = [await PostgresStore.open(url) for url in shard_urls]
    await join_all(stores)
    await Process(stores).move(range(100), "b")

    async with await psycopg.AsyncConnection.connect(shard_urls[1]) as connection:
        handles = [await charge.asubmit(7, tx=connection) for _ in range(20)]
        with pytest.raises(Invalid, match="several databases share the work") as refused:
            await charge.options(key="a").asubmit(7, tx=connection)
        assert refused.value.field == "idempotency_key"
    assert all(int(handle.id[20:23], 16) < 100 for handle in handles)
    async with await psycopg.AsyncConnection.connect(shard_urls[0]) as connection:
        handles = [await charge.asubmit(7, tx=connection) for _ in range(20)]
    assert all(int(handle.id[20:23], 16) >= 100 for handle in handles)
    async with await psycopg.AsyncConnection.connect(shard_urls[1]) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        with pytest.raises(Invalid, match="READ COMMITTED"):
            await charge.asubmit(7, tx=connection)
    async with await psycopg.AsyncConnection.connect(shard_urls[2]) as connection:
        with pytest.raises(DrumlineError, match="the shard c, which takes no new work"):
            await charge.asubmit(7, tx=connection)
    for store in stores:
        await store.close()


@pytest.mark.services
def test_an_app_on_the_database_itself_sees_the_task_after_the_commit(shop_postgres: str) -> None:
    direct = Drumline("direct", direct=Direct(store=shop_postgres))
    task = direct.task(name="charge")(charge.__wrapped__)
    with psycopg.connect(shop_postgres) as connection:
        handle = task.submit(7, tx=connection)
        with pytest.raises(NotCommitted):
            handle.status()
    assert handle.status() is Status.QUEUED
    direct.close()


def test_what_is_submitted_in_a_data_folder_is_run_by_its_worker(tmp_path: Path) -> None:
    path = migrated(tmp_path / "drumline.db")
    local = Drumline("local", data=tmp_path)
    task = local.task(name="charge")(charge.__wrapped__)
    with local.running():
        connection = sqlite3.connect(path)
        with connection:
            handle = task.submit(7, tx=connection)
        connection.close()
        assert handle.result(timeout="30s") == 7


def test_a_request_has_the_same_fields_in_a_transaction() -> None:
    assert charge.options(tx=object(), queue="q").call(1).request == charge.options(queue="q").call(1).request
    assert isinstance(charge.call(1).request, TaskRequest)


def test_values_are_written_as_postgres_reads_them() -> None:
    assert as_text([None, 'a "b" \\', State.RUNNING, b"\x00\xff"]) == r'{NULL,"a \"b\" \\","2","\\x00ff"}'
    assert [as_text(value) for value in (None, "x", True, 1.5, Raw(b"[]"), ())] == [
        None, "x", "true", "1.5", r"\x5b5d", "{}",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="cannot write a object"):
        as_text(object())
