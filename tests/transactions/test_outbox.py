"""Tasks of transactions in another database: kept there until they are relayed, each stored once."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from msgspec import Raw
from structlog.testing import capture_logs

from drumline import Drumline, Invalid, NotRelayed, Singleton, Status, Transaction
from drumline.core.clock import Instant, ManualClock
from drumline.core.codec import encode
from drumline.core.errors import DrumlineError, Unavailable
from drumline.core.ids import TaskId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import Act
from drumline.core.task import Submitted, TaskRequest
from drumline.core.tenant import Quotas
from drumline.sdk.embedded import EngineTransport
from drumline.transactions.relay import BATCH, Outbox, OutboxRelay
from tests.factories import claim, open_session, settle
from tests.harness.fixtures import WORKER, on_database
from tests.transactions.world import World, connecting

app = Drumline("shop", url="http://127.0.0.1:1")
WEEK = timedelta(days=7)


@app.task
def charge(order: int) -> int:
    return order


@pytest.fixture
async def other_postgres(postgres_server_url: str) -> AsyncIterator[str]:
    """A database without Drumline's tables."""
    name = f"drumline_outbox_{WORKER}"
    server = await asyncpg.connect(postgres_server_url)
    await server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    await server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield on_database(postgres_server_url, name)
    await server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await server.close()


@pytest.fixture
def other_sqlite(tmp_path: Path) -> str:
    path = tmp_path / "other.db"
    sqlite3.connect(path).close()
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def other_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"other_{request.param}")
    return url


@pytest.fixture
async def outbox(other_url: str) -> Outbox:
    outbox = Outbox(other_url)
    await outbox.install()
    await outbox.install()  # once more does no harm
    return outbox


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def clocked(other_url: str, clock: ManualClock) -> Outbox:
    """An outbox whose time the test moves."""
    outbox = Outbox(other_url, clock)
    await outbox.install()
    return outbox


async def submit(url: str, *orders: int, tx: Any = None) -> list[Any]:
    """Submit tasks in one transaction of the other database."""
    connection = connecting(url)()
    try:
        with connection:
            return [await charge.asubmit(order, tx=tx(connection) if tx else connection) for order in orders]
    finally:
        connection.close()


def relay_of(outbox: Outbox, world: World, **options: Any) -> OutboxRelay:
    submissions = options.pop("submissions", world.engine.submissions)
    options = {"tenants": ["default"], "retention": WEEK, **options}
    return OutboxRelay(outbox, submissions, world.store.queries, **options)


async def orders_in(world: World) -> list[bytes]:
    ids = sorted(str(id_) for (id_,) in world.rows("task", "id"))
    views = await world.store.queries.get([TaskId(id_) for id_ in ids])
    return [bytes(view.payload or b"") for view in views if view is not None]


async def test_tasks_are_relayed_in_order_under_their_ids(world: World, outbox: Outbox, other_url: str) -> None:
    app.use(EngineTransport(world.engine, asyncio.get_running_loop()))
    handles = await submit(other_url, *range(BATCH + 5))
    with pytest.raises(NotRelayed, match="its outbox has not been relayed"):
        await handles[0].ainfo()

    assert await relay_of(outbox, world).pass_once() == BATCH + 5

    assert await outbox.look(10) == (0, [])
    assert [await handle.astatus() for handle in handles[:3]] == [Status.QUEUED] * 3
    assert await orders_in(world) == [b'{"order":%d}' % order for order in range(BATCH + 5)]
    app.close()


async def test_nothing_is_written_by_a_transaction_that_is_rolled_back(outbox: Outbox, other_url: str) -> None:
    connection = connecting(other_url)()
    await charge.asubmit(1, tx=connection)
    connection.rollback()
    connection.close()

    assert await outbox.look(10) == (0, [])


class Dying:
    """Stores tasks, and loses the answer."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def submit_many(
        self, requests: Sequence[TaskRequest | DrumlineError], *, tenant: str, ids: Sequence[TaskId]
    ) -> list[Submitted | DrumlineError]:
        await self._world.engine.submissions.submit_many(requests, tenant=tenant, ids=ids)
        raise Unavailable("killed")


async def test_a_relay_that_dies_before_it_deletes_stores_nothing_twice(
    world: World, outbox: Outbox, other_url: str
) -> None:
    handles = await submit(other_url, 1, 2, 3)
    with pytest.raises(Unavailable, match="killed"):
        await relay_of(outbox, world, submissions=Dying(world)).pass_once()
    assert (await outbox.look(10))[0] == 3

    relays = [relay_of(outbox, world) for _ in range(3)]
    await asyncio.gather(*(relay.pass_once() for relay in relays))

    assert {str(id_) for (id_,) in world.rows("task", "id")} == {handle.id for handle in handles}
    assert (await outbox.look(10))[0] == 0


async def complete_and_prune(world: World) -> int:
    """Run the tasks of the store, and delete all that ended; return how many that were."""
    session = await open_session(world.store, charge.name)
    while claimed := await claim(world.store, session, charge.name):
        for each in claimed:
            await settle(world.store, each.lease, Act.COMPLETE)
    await world.store.events.sequence()
    return await world.store.prune(ended_before=Instant(1 << 45), limit=100)


async def test_what_may_have_run_and_been_deleted_is_set_aside_not_stored_again(
    world: World, clocked: Outbox, clock: ManualClock, other_url: str
) -> None:
    (first,) = await submit(other_url, 1)
    with pytest.raises(Unavailable, match="killed"):
        await relay_of(clocked, world, submissions=Dying(world)).pass_once()
    (second,) = await submit(other_url, 2)
    assert await complete_and_prune(world) == 1
    clock.advance(WEEK.total_seconds())

    assert await relay_of(clocked, world).pass_once() == 1

    assert {str(id_) for (id_,) in world.rows("task", "id")} == {second.id}
    waiting, (row,) = await clocked.look(10)
    assert (waiting, row.id) == (0, first.id)
    assert row.error.startswith("may have been stored before: a relay tried to 7d ago")
    assert await clocked.retry() == 1
    assert await relay_of(clocked, world).pass_once() == 1
    assert {str(id_) for (id_,) in world.rows("task", "id")} == {first.id, second.id}


async def test_a_row_whose_task_the_store_knows_is_deleted_however_old(
    world: World, clocked: Outbox, clock: ManualClock, other_url: str
) -> None:
    (handle,) = await submit(other_url, 1)
    with pytest.raises(Unavailable, match="killed"):
        await relay_of(clocked, world, submissions=Dying(world)).pass_once()
    clock.advance(WEEK.total_seconds())

    assert await relay_of(clocked, world).pass_once() == 0

    assert await clocked.look(10) == (0, [])
    assert {str(id_) for (id_,) in world.rows("task", "id")} == {handle.id}


async def test_what_was_tried_within_the_retention_or_is_kept_for_ever_is_stored(
    world: World, clocked: Outbox, clock: ManualClock, other_url: str
) -> None:
    await submit(other_url, 1)
    away = EachAnswers(Unavailable("away"))
    with pytest.raises(Unavailable, match="away"):
        await relay_of(clocked, world, submissions=away).pass_once()
    clock.advance(WEEK.total_seconds() - 600)
    assert await relay_of(clocked, world).pass_once() == 1

    await submit(other_url, 2)
    with pytest.raises(Unavailable, match="away"):
        await relay_of(clocked, world, submissions=away).pass_once()
    clock.advance(100 * WEEK.total_seconds())
    assert await relay_of(clocked, world, retention=timedelta(0)).pass_once() == 1


async def test_what_was_refused_at_its_first_try_may_wait_again_at_any_time(
    world: World, clocked: Outbox, clock: ManualClock, other_url: str
) -> None:
    await submit(other_url, 1, 2)
    with pytest.raises(Unavailable, match="away"):
        await relay_of(clocked, world, submissions=EachAnswers(Invalid("no"), Unavailable("away"))).pass_once()
    assert await relay_of(clocked, world, submissions=EachAnswers(Invalid("no"))).pass_once() == 0
    clock.advance(WEEK.total_seconds())
    assert await clocked.retry() == 2

    assert await relay_of(clocked, world).pass_once() == 1

    assert await orders_in(world) == [b'{"order":1}']
    assert (await clocked.look(10))[1][0].error.startswith("may have been stored before")


class EachAnswers:
    """Answers the tasks of a list with these errors in turn, and stores none."""

    def __init__(self, *errors: DrumlineError) -> None:
        self._errors = errors

    async def submit_many(
        self, requests: Sequence[TaskRequest | DrumlineError], *, tenant: str, ids: Sequence[TaskId]
    ) -> list[Submitted | DrumlineError]:
        del tenant, ids
        return [error for error, _ in zip(self._errors, requests, strict=True)]


async def test_an_outbox_of_an_older_version_is_relayed_and_brought_up_to_date(
    world: World, outbox: Outbox, other_url: str
) -> None:
    with connecting(other_url)() as connection:
        connection.execute("ALTER TABLE drumline_outbox DROP COLUMN tried_at")
    connection.close()
    await submit(other_url, 1, 2)
    with connecting(other_url)() as connection:
        connection.execute("UPDATE drumline_outbox SET request = '[]' WHERE seq = 2")
    connection.close()
    relay = relay_of(outbox, world)

    with capture_logs() as logs:
        assert await relay.pass_once() == 1
        assert await relay.pass_once() == 0
    await outbox.install()
    await submit(other_url, 3)
    assert await relay.pass_once() == 1

    assert [line["event"] for line in logs].count("outbox.without_marks") == 1
    assert await orders_in(world) == [b'{"order":1}', b'{"order":3}']


async def test_what_can_never_be_stored_is_set_aside_and_the_others_go_on(
    world: World, outbox: Outbox, other_url: str
) -> None:
    first, bad, last = await submit(other_url, 1, 2, 3)
    with connecting(other_url)() as connection:
        connection.execute(f"UPDATE drumline_outbox SET request = '{{\"name\": 5}}' WHERE id = '{bad.id}'")
    connection.close()

    assert await relay_of(outbox, world).pass_once() == 2

    waiting, (row,) = await outbox.look(10)
    assert (waiting, row.id) == (0, bad.id)
    assert row.error.startswith("name: ")
    assert {str(id_) for (id_,) in world.rows("task", "id")} == {first.id, last.id}
    assert await outbox.retry() == 1
    assert (await outbox.look(10))[0] == 1


@pytest.mark.services
async def test_what_is_refused_with_a_character_that_postgres_cannot_store_is_set_aside(
    world: World, other_postgres: str
) -> None:
    outbox = Outbox(other_postgres)
    await outbox.install()
    fields = {"order": {"type": "integer"}}
    schema: dict[str, object] = {"type": "object", "properties": fields, "additionalProperties": False}
    types = (TaskType(name="charge", schema=schema),)
    await world.engine.sessions.open(SessionSpec(host="h", pid=1, version="1", queues=(), types=types, capacity=1))
    first, bad, last = await submit(other_postgres, 1, 2, 3)
    with connecting(other_postgres)() as connection:
        payload = encode(TaskRequest(name="charge", payload=Raw(b'{"x\\u0000y":1}'))).decode()
        connection.execute("UPDATE drumline_outbox SET request = %s WHERE id = %s", (payload, bad.id))
    connection.close()

    assert await relay_of(outbox, world).pass_once() == 2

    waiting, (row,) = await outbox.look(10)
    assert (waiting, row.id) == (0, bad.id)
    assert row.error == "payload.x\ufffdy: is not a known field"
    assert {str(id_) for (id_,) in world.rows("task", "id")} == {first.id, last.id}


async def test_a_task_that_cannot_be_set_aside_does_not_hold_up_the_others(
    world: World, outbox: Outbox, other_url: str
) -> None:
    first, bad, worse, last = await submit(other_url, 1, 2, 3, 4)
    with connecting(other_url)() as connection:
        connection.execute(f"UPDATE drumline_outbox SET request = '[]' WHERE id IN ('{bad.id}', '{worse.id}')")
        for statement in refusing_changes(other_url, worse.id):
            connection.execute(statement)
    connection.close()

    with capture_logs() as logs:
        assert await relay_of(outbox, world).pass_once() == 2

    waiting, (row,) = await outbox.look(10)
    assert (waiting, row.id) == (1, bad.id)
    assert {str(id_) for (id_,) in world.rows("task", "id")} == {first.id, last.id}
    assert [line["task"] for line in logs if line["event"] == "outbox.not_set_aside"] == [worse.id]


def refusing_changes(url: str, id: str) -> list[str]:
    """Return statements after which a row of an outbox cannot be changed."""
    trigger = "CREATE TRIGGER fixed BEFORE UPDATE OF error ON drumline_outbox"
    if url.startswith("sqlite:"):
        return [f"{trigger} WHEN old.id = '{id}' BEGIN SELECT raise(ABORT, 'no'); END"]
    return [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$",
        f"{trigger} FOR EACH ROW WHEN (old.id = '{id}') EXECUTE FUNCTION refuse()",
    ]


async def test_a_tenant_that_the_relay_does_not_store_for_is_set_aside(
    world: World, outbox: Outbox, other_url: str
) -> None:
    await world.store.tenants.add_tenant("acme", Quotas(queued=1))
    await submit(other_url, 1, tx=lambda connection: Transaction(connection, tenant="acme"))

    assert await relay_of(outbox, world).pass_once() == 0
    ((_, (row,)), _) = await outbox.look(10), await outbox.retry()
    assert row.error == "tenant: this relay stores no tasks of acme"

    assert await relay_of(outbox, world, tenants=["acme"]).pass_once() == 1


async def test_what_the_store_cannot_take_now_stays(world: World, outbox: Outbox, other_url: str) -> None:
    await world.store.tenants.add_tenant("acme", Quotas(queued=2))
    await submit(other_url, 1, 2, 3, tx=lambda connection: Transaction(connection, tenant="acme"))

    with pytest.raises(DrumlineError, match="has 2 tasks waiting, its quota"):
        await relay_of(outbox, world, tenants=["acme"]).pass_once()

    assert await outbox.look(10) == (1, [])
    assert len(world.rows("task", "id")) == 2


async def test_an_id_that_the_sdk_has_not_made_is_set_aside(world: World, outbox: Outbox, other_url: str) -> None:
    (handle,) = await submit(other_url, 1)
    forged = f"{handle.id[:20]}{(int(handle.id[20:23], 16) + 1) % 4096:03x}{handle.id[23:]}"
    with connecting(other_url)() as connection:
        connection.execute(f"UPDATE drumline_outbox SET id = '{forged}'")
    connection.close()

    assert await relay_of(outbox, world).pass_once() == 0
    assert (await outbox.look(10))[1][0].error == "id: is not one that the SDK has made"


@pytest.mark.usefixtures("outbox")
async def test_keys_and_jobs_are_refused_and_mistakes_show_at_once(other_url: str) -> None:
    connection = connecting(other_url)()
    with pytest.raises(Invalid, match="its row is the key") as refused:
        await charge.options(key="a").asubmit(1, tx=connection)
    assert refused.value.field == "idempotency_key"
    with pytest.raises(Invalid, match="queue: must be letters"):
        await charge.options(queue="a b").asubmit(1, tx=connection)
    with app.dag("job") as dag:
        dag.add(charge, 1)
    with pytest.raises(Invalid, match="takes single tasks"):
        await dag.asubmit(tx=connection)
    connection.close()


@pytest.mark.services
async def test_asynchronous_drivers_write_to_an_outbox(world: World, other_postgres: str) -> None:
    outbox = Outbox(other_postgres)
    await outbox.install()
    connection = await asyncpg.connect(other_postgres)
    async with connection.transaction():
        first = await charge.asubmit(1, tx=connection)
    await connection.close()
    async with await psycopg.AsyncConnection.connect(other_postgres) as other:
        second = await charge.asubmit(2, tx=other)

    assert await relay_of(outbox, world).pass_once() == 2
    assert {str(id_) for (id_,) in world.rows("task", "id")} == {first.id, second.id}


async def test_an_outbox_that_is_missing_or_away_is_told(tmp_path: Path, other_sqlite: str) -> None:
    with pytest.raises(Invalid, match="has no outbox: run drumline outbox install"):
        await Outbox(other_sqlite).batch(0)
    with pytest.raises(Unavailable, match="cannot be used"):
        await Outbox(f"sqlite:///{tmp_path}/nowhere/x.db").batch(0)
    with pytest.raises(Unavailable, match="cannot be used"):
        await Outbox("postgresql://nobody@127.0.0.1:1/none").batch(0)
    with pytest.raises(Invalid, match="must start with postgresql://"):
        Outbox("mysql://x")


@pytest.mark.usefixtures("outbox")
async def test_a_task_that_may_collapse_into_another_is_refused(other_url: str) -> None:
    connection = connecting(other_url)()
    with pytest.raises(Invalid, match="may collapse into another") as refused:
        await charge.options(collapse=Singleton()).asubmit(1, tx=connection)
    assert refused.value.field == "collapse"
    connection.close()
