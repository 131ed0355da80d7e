"""The second wall: what a tenant sees is decided by the database once more, whatever our statements say."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
import structlog

from drumline.core.errors import NotFound, Unavailable
from drumline.core.task import accept
from drumline.ports.changed import Changed
from drumline.stores.driver import Line
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.connection import Connection
from drumline.stores.postgres.database import DEFAULT_BUDGET, Database
from tests.factories import new_id, open_session, request, submit
from tests.harness.pgbouncer import PgBouncer
from tests.postgres.conftest import LIMITED

CLOSED = {
    "migration", "outbox", "event_log", "event_cursor", "schedule_watch", "claim", "job_ripple", "sign_in_mark",
    "runtime_config", "task_expiry", "job_watch", "watch_ripple", "shard_self", "slot_entry", "shard", "slot_owner",
    "shard_map", "drain_copy", "forward", "arrival", "limit_definitions", "limit_transfer", "limit_peer",
}  # fmt: skip
"""Tables that belong to nobody, or whose rows are of many tenants: from within a wall there is no looking at them."""

ROWS = """
INSERT INTO drumline.tenant (name, created_at) VALUES ('{tenant}', 1);
INSERT INTO drumline.lane (tenant, queue, name, priority) VALUES ('{tenant}', 'q', 'n', 0);
INSERT INTO drumline.task (id, due_at, created_at, lane, payload) SELECT '{id}', 1, 1, id, '' FROM {lane};
INSERT INTO drumline.task_live (id, lane) SELECT '{id}', id FROM {lane};
INSERT INTO drumline.attempt (task_id, finished_at, epoch, lane, attempt, outcome)
SELECT '{id}', 1, 1, id, 1, 3 FROM {lane};
INSERT INTO drumline.idempotency VALUES ('k', '{tenant}', '{id}', 1, '');
INSERT INTO drumline.collapse_key VALUES (1, 1, '{id}', '{tenant}', 'k');
INSERT INTO drumline.session (id, opened_at, beat_at, spec) VALUES ({number}, 1, 1, '{{"tenant":"{tenant}"}}');
INSERT INTO drumline.queue_pause VALUES ('{tenant}', 'q', NULL, 1);
INSERT INTO drumline.task_log VALUES ('{id}', 1, 0, 'text');
INSERT INTO drumline.artifact VALUES ('{id}', 1, 'name', 'text/plain', '');
INSERT INTO drumline.job (id, created_at, total, tenant, name, options) VALUES ('{id}', 1, 1, '{tenant}', 'n', '');
INSERT INTO drumline.job_task (task_id, job_id, pending, run_if, key) VALUES ('{id}', '{id}', 0, 0, 'a');
INSERT INTO drumline.task_edge VALUES ('{id}', '{id}');
INSERT INTO drumline.job_dep VALUES ('{id}', '{id}');
INSERT INTO drumline.schedule VALUES ('{id}', 1, '{tenant}', 'n', '', '', '');
INSERT INTO drumline.schedule_live (id, changed_at, state) VALUES ('{id}', 1, 0);
INSERT INTO drumline.schedule_run (schedule_id, fire_time, created_at, kind, state) VALUES ('{id}', 1, 1, 0, 0);
INSERT INTO drumline.cause (first_at, last_at, count, lane, fingerprint, kind, message)
SELECT 1, 1, 1, id, 'f', 'k', 'm' FROM {lane};
INSERT INTO drumline.dead_letter VALUES ('{id}', 1, 1, 1, 1, 'r', 'm');
INSERT INTO drumline.failure_triage (tenant, fingerprint, decision, changed_at) VALUES ('{tenant}', 'f', 'open', 1);
INSERT INTO drumline.saved_view VALUES (1, 1, '{tenant}', 'ada', 'tasks', 'n', true, '', '[]');
INSERT INTO drumline.alert_rule (id, tenant, name, condition, severity, created_at, since, every_ms)
VALUES ('{id}', '{tenant}', 'n', '', 'info', 1, 1, 1);
INSERT INTO drumline.alert_incident (rule, fired_at, value, peak, tenant) VALUES ('{id}', 1, 1, 1, '{tenant}');
INSERT INTO drumline.slo (id, tenant, name, task, definition, created_at, due_at, counted_until)
VALUES ('{id}', '{tenant}', 'n', 't', '', 1, 1, 1);
INSERT INTO drumline.slo_hour VALUES ('{id}', 1, 1, 1);
INSERT INTO drumline.payload_edit VALUES ('{id}', 1, 1, '');
INSERT INTO drumline.task_fork VALUES ('{id}', '{id}', 1, 0, 'i', '');
INSERT INTO drumline.task_link VALUES ('{id}', '{id}', 0, NULL, NULL, 0, 'n', '');
INSERT INTO drumline.task_round VALUES ('{id}', 1, 1, 1, 0, '');
INSERT INTO drumline.round_record VALUES ('{id}', 1, 1, NULL, 1, 1, 1, 1, 1, 1, 'n', '', 'null');
INSERT INTO drumline.round_link VALUES ('{id}', '{id}', 1, 0, 0, 'n', '');
INSERT INTO drumline.child_note VALUES ('{id}', 1, '', '');
INSERT INTO drumline.step_record VALUES ('{id}', 1, 1, NULL, 1, 1, 1, 1, 1, 'n', '', 'null');
INSERT INTO drumline.task_wait VALUES ('{id}', 1, NULL, 1, 2, 'n', '', '');
INSERT INTO drumline.signal (task_id, at, tenant, name, key, id, payload)
VALUES ('{id}', 1, '{tenant}', 'n', '', '1', '');
INSERT INTO drumline.signal_watch (task_id, at, version, tenant, name, key) VALUES ('{id}', 1, 1, '{tenant}', 'n', 'k');
INSERT INTO drumline.bulk (id, created_at, tokens_at, total, tenant, act, state, request)
VALUES ('{id}', 1, 1, 1, '{tenant}', 'cancel', 'running', '');
INSERT INTO drumline.bulk_item (bulk_id, task_id, seq) VALUES ('{id}', '{id}', 1);
INSERT INTO drumline.subscription (id, created_at, channel, tenant, name, filter, address)
VALUES ('{id}', 1, 0, '{tenant}', 'n', '', '');
INSERT INTO drumline.signing_secret VALUES ('{tenant}', '[]');
INSERT INTO drumline.task_type (changed_at, published_at, tenant, name) VALUES (0, 0, '{tenant}', 'n');
INSERT INTO drumline.delivery (id, created_at, channel, tenant, event_id, event_type, subject, address, event)
VALUES ('{id}', 1, 0, '{tenant}', '{id}', '', '', '', '');
INSERT INTO drumline.mailbox VALUES ('{tenant}', 'a', 1);
INSERT INTO drumline.api_key (id, created_at, digest, tenant, spec) VALUES ('{id}', 1, '{tenant}', '{tenant}', '');
INSERT INTO drumline.audit VALUES ('{id}', NULL, 1, '{tenant}', '', '');
INSERT INTO drumline.audit_head VALUES ('{tenant}', 1, '');
INSERT INTO drumline.stat SELECT 1, 1, 60, id, 0, 0 FROM {lane};
INSERT INTO drumline.depth SELECT 1, 1, 1, 60, id FROM {lane};
INSERT INTO drumline.progress VALUES ('{id}', 1, 1, 1, 1, '');
INSERT INTO drumline.flow_limit (tenant, name, created_at) VALUES ('{tenant}', 'n', 1);
INSERT INTO drumline.limit_key (tenant, key) VALUES ('{tenant}', 'k');
INSERT INTO drumline.slot SELECT '{id}', 1, id, 0, 1 FROM drumline.flow_limit WHERE tenant = '{tenant}';
INSERT INTO drumline.limit_share (limit_id, limit_key, changed_at)
SELECT id, 0, 1 FROM drumline.flow_limit WHERE tenant = '{tenant}';
INSERT INTO drumline.secret (created_at, updated_at, tenant, name, key_id, sealed)
VALUES (1, 1, '{tenant}', 'n', '', '');
"""


def rows_of(tenant: str, number: int) -> str:
    """Return what puts a row of a tenant into every table that has rows of tenants."""
    id_ = f"0190f2a4-0000-7000-8000-{number:012d}"
    return ROWS.format(tenant=tenant, number=number, id=id_, lane=f"drumline.lane WHERE tenant = '{tenant}'")


@pytest.fixture
async def owner(postgres_url: str) -> AsyncIterator[Connection]:
    """Who owns the tables, and whom no wall concerns."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def role_of(owner: Connection) -> str:
    return f"drumline_tenant_{await owner.fetchval('SELECT current_database()')}"


async def tables(owner: Connection) -> list[str]:
    rows = await owner.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'drumline' ORDER BY 1")
    return [name for (name,) in rows]


async def places(connection: Connection, table: str) -> set[str]:
    """Return where the rows are that can be seen, by a statement that asks for all."""
    return {str(place) for (place,) in await connection.fetch(f"SELECT ctid::text FROM drumline.{table}")}


async def test_a_tenant_sees_its_own_rows_and_no_others_though_it_asks_for_all(owner: Connection) -> None:
    walled = [table for table in await tables(owner) if table not in CLOSED]
    await owner.execute(rows_of("acme", 1))
    acmes = {table: await places(owner, table) for table in walled}
    await owner.execute(rows_of("beta", 2))
    assert [table for table in walled if not acmes[table]] == [], "let ROWS put a row into each"
    assert [table for table in walled if not await places(owner, table) - acmes[table]] == []

    await owner.execute(f"SET ROLE {await role_of(owner)}")
    nobodys = {table: await places(owner, table) for table in walled}
    await owner.execute("SET drumline.tenant = ''")
    empty = {table: await places(owner, table) for table in walled}
    await owner.execute("SET drumline.tenant = 'acme'")
    seen = {table: await places(owner, table) for table in walled}

    assert seen == acmes
    assert [table for table in walled if nobodys[table] or empty[table]] == []


async def test_a_worker_that_serves_everybody_is_seen_by_each(owner: Connection, store: PostgresStore) -> None:
    await open_session(store)
    await owner.execute(rows_of("acme", 1))
    await owner.execute(f"SET ROLE {await role_of(owner)}")

    assert await places(owner, "session") == set()
    await owner.execute("SET drumline.tenant = 'beta'")
    assert len(await places(owner, "session")) == 1


async def test_a_table_has_a_wall_or_cannot_be_read_from_within_one(owner: Connection) -> None:
    rows = await owner.fetch(
        """
        SELECT
            c.relname, c.relrowsecurity,
            EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = 'wall'),
            has_table_privilege($1, c.oid, 'SELECT'),
            EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant')
        FROM pg_class AS c WHERE c.relnamespace = 'drumline'::regnamespace AND c.relkind = 'r'
        """,
        await role_of(owner),
    )

    for name, is_on, has_policy, can_read, has_tenant in rows:
        if name in CLOSED:
            assert not can_read, name
            assert not has_tenant, f"{name} has rows of tenants: give it a policy, as in 0018_wall.sql"
        else:
            assert is_on, f"{name}: give it a policy, as in 0018_wall.sql, or name it in CLOSED"
            assert has_policy, name
            assert can_read, name


async def test_a_statement_that_forgets_its_tenant_is_stopped_by_the_wall(owner: Connection, postgres_url: str) -> None:
    await owner.execute(rows_of("acme", 1))
    await owner.execute(rows_of("beta", 2))
    database = Database(postgres_url, budget=DEFAULT_BUDGET)
    everybodys: dict[str, Any] = {"id": None, "tenant": None, "enabled": False}

    within = {
        name: await database.fetch(Line.REQUEST, "subscriptions", within=name, **everybodys)
        for name in ("acme", "beta")
    }
    again = await database.fetch(Line.REQUEST, "subscriptions", within="acme", **everybodys)
    without = await database.fetch(Line.REQUEST, "subscriptions", **everybodys)
    strange = await database.fetch(Line.REQUEST, "subscriptions", within="acme", id=None, tenant="beta", enabled=False)

    assert {name: [row["tenant"] for row in rows] for name, rows in within.items()} == {
        "acme": ["acme"],
        "beta": ["beta"],
    }
    assert [row["tenant"] for row in again] == ["acme"]
    assert [row["tenant"] for row in without] == ["acme", "beta"]
    assert strange == []
    await database.close()


async def test_an_act_that_names_another_tenant_is_stopped_by_the_wall(owner: Connection, postgres_url: str) -> None:
    await owner.execute(rows_of("beta", 2))
    database = Database(postgres_url, budget=DEFAULT_BUDGET)

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await database.fetch(
            Line.REQUEST, "pause_queue", within="acme", tenant="beta", queue="other", reason=None, now=None
        )
    resumed = await database.fetch(Line.REQUEST, "resume_queue", within="acme", tenant="beta", queue="q")
    deleted = await database.fetch(Line.REQUEST, "delete_secret", within="acme", tenant="beta", name="n")

    assert (resumed, deleted) == ([], [])
    assert len(await places(owner, "queue_pause")) == len(await places(owner, "secret")) == 1
    await database.close()


async def test_behind_a_pooler_a_wall_ends_with_its_transaction(
    owner: Connection, pgbouncer: PgBouncer, postgres_url: str
) -> None:
    await owner.execute(rows_of("acme", 1))
    await owner.execute(rows_of("beta", 2))
    await owner.execute("UPDATE drumline.subscription SET tenant = $1 WHERE tenant = 'beta'", "o'hara\\")
    database = Database(pgbouncer.url(urlsplit(postgres_url).path[1:]), budget=DEFAULT_BUDGET)
    assert not await database.is_direct()

    for tenant in ("acme", "o'hara\\", "nobody", "acme") * 3:
        own = await database.fetch(Line.REQUEST, "subscriptions", within=tenant, id=None, tenant=None, enabled=False)
        everybodys = await database.fetch(Line.REQUEST, "subscriptions", id=None, tenant=None, enabled=False)
        assert [row["tenant"] for row in own] == [tenant][: tenant != "nobody"]
        assert len(everybodys) == 2
    await database.close()


async def test_nobody_acts_on_anothers_tasks_and_jobs(store: PostgresStore) -> None:
    task = accept(request(), id=new_id(), tenant="acme")
    await store.submit([task])

    answers = [
        *await store.control.cancel([task.id], tenant="beta"),
        *await store.control.retry([task.id], tenant="beta"),
        *await store.dead_letters.discard([task.id], tenant="beta"),
    ]

    assert [type(answer) for answer in answers] == [NotFound] * 3
    (cancelled,) = await store.control.cancel([task.id], tenant="acme")
    assert isinstance(cancelled, Changed)


async def test_the_owner_of_the_tables_is_not_concerned(limited_url: str) -> None:
    store = await PostgresStore.open(limited_url)
    await store.migrate()
    await store.close()
    owner = await asyncpg.connect(limited_url)

    for table in await tables(owner):
        rows = await owner.fetch(f"EXPLAIN (COSTS OFF) SELECT * FROM drumline.{table}")
        assert [line for (line,) in rows] == [f"Seq Scan on {table}"], "what is hot has the plans that it always had"
    await owner.close()


async def test_where_no_role_may_be_created_all_works_and_it_is_said(
    limited_url: str, postgres_server_url: str
) -> None:
    store = await PostgresStore.open(limited_url)
    with structlog.testing.capture_logs() as logs:
        await store.migrate()
        task = await submit(store)
        (view,) = await store.queries.get([task], tenant="default")
        await store.queries.get([task], tenant="default")

    assert view is not None
    warned = [entry for entry in logs if entry["event"] == "wall.missing"]
    assert [entry["log_level"] for entry in warned] == ["warning", "warning"], "by the migration, and by the first look"
    assert warned[0]["reason"] == f"there is no role drumline_tenant_{LIMITED}"
    await store.close()

    # What the manual tells an administrator to do.
    server = await asyncpg.connect(postgres_server_url)
    await server.execute(f"CREATE ROLE drumline_tenant_{LIMITED} NOLOGIN")
    await server.execute(f"GRANT drumline_tenant_{LIMITED} TO {LIMITED}")
    await server.close()
    store = await PostgresStore.open(limited_url)
    with structlog.testing.capture_logs() as logs:
        await store.migrate()
        (own,), (strange,) = (
            await store.queries.get([task], tenant="default"),
            await store.queries.get([task], tenant="acme"),
        )

    assert own is not None
    assert strange is None
    assert [entry["event"] for entry in logs] == ["wall.built"]
    await store.close()


async def test_a_wall_that_is_taken_away_is_missed_and_said(limited_url: str, postgres_server_url: str) -> None:
    server = await asyncpg.connect(postgres_server_url)
    await server.execute(f"CREATE ROLE drumline_tenant_{LIMITED} NOLOGIN; GRANT drumline_tenant_{LIMITED} TO {LIMITED}")
    store = await PostgresStore.open(limited_url)
    await store.migrate()
    task = await submit(store)
    assert await store.queries.get([task], tenant="acme") == [None]
    await server.execute(f"REVOKE drumline_tenant_{LIMITED} FROM {LIMITED}")
    await server.close()

    with structlog.testing.capture_logs() as logs:
        with pytest.raises(Unavailable, match="second wall"):
            await store.queries.queues(tenant="default")  # on a line that has no connection yet
        (queue,) = await store.queries.queues(tenant="default")

    assert queue.queued == 1
    assert [(entry["event"], entry["reason"]) for entry in logs] == [
        ("wall.missing", f"the user {LIMITED} may not act as drumline_tenant_{LIMITED}")
    ]
    await store.close()
