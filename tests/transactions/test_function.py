"""`SELECT drumline.submit(…)`: tasks by SQL are those of a server, and mistakes are named by their argument."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from drumline.core.ids import TaskId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.slots import slot_of_key
from drumline.core.task_type import TypeDefaults
from drumline.core.tenant import Quotas
from drumline.engine.engine import Engine
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_one, open_session, request
from tests.harness.fixtures import WORKER
from tests.postgres.shards import Process, join_all

pytestmark = pytest.mark.services

USER = f"shop_{WORKER}"

COLUMNS = "SELECT lane, payload, options, idempotency_key FROM drumline.task ORDER BY id"


@pytest.fixture
async def store(shop_postgres: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(shop_postgres)
    yield store
    await store.close()


@pytest.fixture
async def sql(shop_postgres: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(shop_postgres)
    yield connection
    await connection.close()


async def test_the_rows_are_those_that_a_server_writes(store: PostgresStore, sql: Any) -> None:
    engine = Engine(store, NoQueue())
    run_at = datetime(2100, 1, 1, tzinfo=UTC)
    for fields in (
        {},
        {"queue": "billing", "priority": 30},
        {"retries": 0, "timeout": 5, "tags": ("a", "b"), "limit_key": "acme"},
        {"run_at": run_at, "expires": 60, "idempotency_key": "k"},
    ):
        await engine.submissions.submit(request("work", [1, "x"], **fields))
    by_server = await sql.fetch(COLUMNS)
    await sql.execute("DELETE FROM drumline.task; DELETE FROM drumline.task_live; DELETE FROM drumline.idempotency")

    payload = '[1, "x"]'
    await sql.fetchval("SELECT drumline.submit('work', $1)", payload)
    await sql.fetchval("SELECT drumline.submit('work', $1, queue => 'billing', priority => 30)", payload)
    await sql.fetchval(
        "SELECT drumline.submit('work', $1, retries => 0, timeout => '5s', tags => '{a,b}', limit_key => 'acme')",
        payload,
    )
    keyed = await sql.fetchval(
        "SELECT drumline.submit('work', $1, run_at => $2, expires => '1m', key => 'k')", payload, run_at
    )

    assert [_plain(row) for row in await sql.fetch(COLUMNS)] == [_plain(row) for row in by_server]
    assert int(str(keyed)[20:23], 16) == slot_of_key("default", "k")
    claimed = await claim_one(store, await open_session(store))
    assert bytes(claimed.payload) == payload.encode()
    assert await sql.fetchval("SELECT count(*) FROM drumline.task_expiry") == 2
    await engine.close()


def _plain(row: Any) -> Any:
    """A row with JSON as its value: the spaces in it do not matter."""
    import json  # noqa: PLC0415

    lane, payload, options, key = row
    return lane, json.loads(payload), options and json.loads(options), key


async def test_what_code_declares_holds(store: PostgresStore, sql: Any) -> None:
    engine = Engine(store, NoQueue())
    declared = TypeDefaults(queue="billing", priority=5, retries=1, timeout=2.5, tags=("money",), expires=60)
    spec = SessionSpec(
        host="h", pid=1, version="1", queues=(), types=(TaskType(name="pay", defaults=declared),), capacity=1
    )
    await engine.sessions.open(spec)

    id_ = await sql.fetchval("SELECT drumline.submit('pay')")

    (view,) = await store.queries.get([TaskId(str(id_))])
    assert view is not None
    assert (view.lane.queue, view.lane.priority, view.options.retries) == ("billing", 5, 1)
    assert (view.options.timeout_ms, view.options.tags) == (2500, ("money",))
    assert view.options.expires_at == view.created_at + 60_000
    await engine.close()


async def test_a_key_is_one_task(sql: Any) -> None:
    first = await sql.fetchval("""SELECT drumline.submit('pay', '{"a": 1, "b": 2}', key => 'order-7')""")

    assert await sql.fetchval("""SELECT drumline.submit('pay', '{"b": 2, "a": 1}', key => 'order-7')""") == first
    with pytest.raises(asyncpg.PostgresError, match=f"key: belongs to task {first}, which was submitted differently"):
        await sql.fetchval("SELECT drumline.submit('pay', '{}', key => 'order-7')")
    assert await sql.fetchval("SELECT count(*) FROM drumline.task") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("' '", "name: must not be blank"),
        ("repeat('x', 256)", "name: must be at most 255 characters"),
        (r"E'a\nb'", "name: must not contain control characters"),
        ("'pay', NULL", "payload: must not be NULL"),
        ("'pay', to_jsonb(repeat('x', 1048576))", "payload: is 1048578 bytes of JSON; at most 1048576"),
        ("'pay', (repeat('[', 101) || repeat(']', 101))::jsonb", "payload: is nested more than 100 levels deep"),
        ("'pay', queue => 'a b'", "queue: must be at most 128 letters"),
        ("'pay', priority => 101", "priority: must be from -100 to 100"),
        ("'pay', retries => -1", "retries: must be from 0 to 1000"),
        ("'pay', timeout => '0s'", "timeout: must be more than zero"),
        ("'pay', expires => '400 days'", "expires: must be more than zero, and at most 366 days"),
        ("'pay', delay => '-1s'", "delay: must be zero or more"),
        ("'pay', delay => '1s', run_at => now()", "delay: cannot be given together with run_at"),
        ("'pay', run_at => 'infinity'", "run_at: must be from 1970 to 9999"),
        ("'pay', tags => array_fill('x'::text, '{21}')", "tags: must be at most 20"),
        ("'pay', tags => '{a,\"\"}'", r"tags\[2\]: must not be blank"),
        ("'pay', limit_key => ''", "limit_key: must not be blank"),
        ("'pay', key => ''", "key: must not be blank"),
        ("'pay', tenant => 'nobody'", "tenant: there is no tenant nobody"),
    ],
)
async def test_a_mistake_is_named_by_its_argument(sql: Any, arguments: str, told: str) -> None:
    with pytest.raises(asyncpg.PostgresError, match=told) as refused:
        await sql.fetchval(f"SELECT drumline.submit({arguments})")
    assert refused.value.sqlstate == "DL002"


async def test_the_deepest_payload_is_accepted_and_texts_do_not_count(sql: Any) -> None:
    await sql.fetchval("SELECT drumline.submit('pay', (repeat('[', 100) || repeat(']', 100))::jsonb)")
    await sql.fetchval("SELECT drumline.submit('pay', to_jsonb(repeat('[\"', 300)))")


async def test_quotas_of_a_tenant_hold(store: PostgresStore, sql: Any) -> None:
    await store.tenants.add_tenant("acme", Quotas(queued=1, payload_bytes=20))
    await sql.fetchval("SELECT drumline.submit('pay', tenant => 'acme')")

    with pytest.raises(asyncpg.PostgresError, match="tenant acme has 1 tasks waiting, its quota"):
        await sql.fetchval("SELECT drumline.submit('pay', tenant => 'acme')")
    with pytest.raises(asyncpg.PostgresError, match="the quota of tenant acme is 20"):
        await sql.fetchval("SELECT drumline.submit('pay', to_jsonb(repeat('x', 20)), tenant => 'acme')")


async def test_a_trigger_submits_for_a_user_without_other_rights(sql: Any) -> None:
    await sql.execute(f"""
        DROP ROLE IF EXISTS {USER};
        CREATE ROLE {USER};
        GRANT USAGE ON SCHEMA public TO {USER};
        GRANT INSERT ON orders TO {USER};
        CREATE FUNCTION charge_order() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM drumline.submit('charge', jsonb_build_object('order', NEW.id));
            RETURN NEW;
        END $$;
        CREATE TRIGGER charge AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION charge_order();
    """)
    try:
        await sql.execute(f"SET ROLE {USER}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await sql.execute("INSERT INTO orders (id) VALUES (1)")
        await sql.execute("RESET ROLE")
        await sql.execute(f"GRANT USAGE ON SCHEMA drumline TO {USER}")
        await sql.execute(f"SET ROLE {USER}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="submit"):
            await sql.execute("INSERT INTO orders (id) VALUES (1)")
        await sql.execute(f"RESET ROLE; GRANT EXECUTE ON FUNCTION drumline.submit TO {USER}; SET ROLE {USER}")
        await sql.execute("INSERT INTO orders (id) VALUES (2), (3)")
        await sql.execute("RESET ROLE")
        rows = await sql.fetch("SELECT convert_from(payload, 'UTF8') FROM drumline.task ORDER BY 1")
        assert [row[0] for row in rows] == ['{"order": 2}', '{"order": 3}']
    finally:
        await sql.execute(f"""
            RESET ROLE; DROP TRIGGER charge ON orders; DROP FUNCTION charge_order;
            DROP OWNED BY {USER}; DROP ROLE {USER}
        """)


async def test_a_shard_takes_what_it_has_slots_for(shard_urls: tuple[str, ...]) -> None:
    stores = [await PostgresStore.open(url) for url in shard_urls]
    await join_all(stores)
    await Process(stores).move(range(100), "b")
    for url, slots in zip(shard_urls[:2], (range(100, 4096), range(100)), strict=True):
        connection = await asyncpg.connect(url)
        ids = [str(await connection.fetchval("SELECT drumline.submit('pay')")) for _ in range(10)]
        assert all(int(id_[20:23], 16) in slots for id_ in ids)
        with pytest.raises(asyncpg.PostgresError, match="key: cannot be given where several databases"):
            await connection.fetchval("SELECT drumline.submit('pay', key => 'a')")
        await connection.close()
    last = await asyncpg.connect(shard_urls[2])
    with pytest.raises(asyncpg.PostgresError, match="takes no new work"):
        await last.fetchval("SELECT drumline.submit('pay')")
    await last.close()
    for store in stores:
        await store.close()
