"""Plans made on empty tables stay right when the tables are large: every row is found by a key."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import asyncpg
import pytest

from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.connection import BROAD, SETTINGS, Connection
from drumline.stores.postgres.statements import SQL
from tests.factories import claim, open_session, submit
from tests.postgres.polling import until


def fill_with(rows: int) -> str:
    """Return what puts so many tasks into the tables, and all that belongs to them."""
    return f"""
INSERT INTO drumline.task (id, due_at, created_at, lane, payload)
SELECT gen_random_uuid(), n, n, lane.id, '{{}}' FROM generate_series(1, {rows}) AS n, drumline.lane;
INSERT INTO drumline.task_live (id, lane, due_at) SELECT id, lane, due_at FROM drumline.task LIMIT {rows // 2}
ON CONFLICT DO NOTHING;
INSERT INTO drumline.attempt (task_id, finished_at, epoch, lane, attempt, outcome)
SELECT id, due_at, 1, lane, 1, 3 FROM drumline.task OFFSET {rows // 2};
INSERT INTO drumline.job (id, created_at, total, tenant, name, options)
SELECT gen_random_uuid(), n, 1, 'default', 'job', '{{}}' FROM generate_series(1, {rows // 10}) AS n;
INSERT INTO drumline.job_task (task_id, job_id, pending, run_if, key)
SELECT id, gen_random_uuid(), 1, 0, 'a' FROM drumline.task;
INSERT INTO drumline.task_edge (parent, child) SELECT id, gen_random_uuid() FROM drumline.task;
INSERT INTO drumline.job_dep (job_id, needs_job) SELECT id, gen_random_uuid() FROM drumline.job;
INSERT INTO drumline.signal (task_id, at, tenant, name, key, id, payload)
SELECT NULL, n, 'default', 'paid', 'k' || n, 's' || n, ''::bytea FROM generate_series(1, {rows // 10}) AS n
UNION ALL
SELECT gen_random_uuid(), n, 'default', 'paid', '', 's' || n, ''::bytea FROM generate_series(1, {rows // 10}) AS n;
"""


FILL = fill_with(20_000)
"""For plans that were made before: a hundred times more than a statement may read."""
FILL_WELL = fill_with(100_000)
"""For plans that are made afterwards: of less, PostgreSQL may rightly read all there is."""

IDS = ["0190f2a4-0000-7000-8000-000000000001", "0190f2a4-0000-7000-8000-000000000002"]
LEASES = {"ids": IDS, "epochs": [1, 1], "nonces": [5, 5]}
ABLE: dict[str, Any] = {"names": ["work"], "queues": [], "tenant": None, "now": None}
CLAIM = ABLE | {"sessions": [7], "nonces": [5], "act": 3}
SIGNAL = {"seq": 1, "key": "k1"}
USUAL = {f"usual_{name}": None for name in ("epochs", "nonces", "acts", "outcomes", "results", "errors")}

HOT: dict[str, dict[str, Any]] = {
    "claim_due": CLAIM | {"limits": [100], "cursor_lanes": [1], "cursor_due_at": [0], "cursor_tasks": [IDS[0]]},
    "claim_shared": CLAIM | {"limits": [100], "cursor_lanes": [1], "cursor_due_at": [0], "cursor_tasks": [IDS[0]],
    "share_tenants": ["default"], "share_levels": [0], "share_steps": [1]},
    "claim_hinted": CLAIM | {"hints": IDS, "requests": [1, 1], "limited": False},
    "claim_lone": ABLE | {"session": 7, "nonce": 5, "hint": IDS[0], "act": 3},
    "submit_leased": {"id": IDS[0], "lane": 1, "payload": "{}", "options": None, "tenant": "default",
    "queue": "default", "name": "work", "session": 7, "nonce": 5, "submit": 0, "claim": 3,
    "slots": [5], "versions": [0], "oldest": [1], "now": None},
    "next_due": ABLE,
    "settle": LEASES | USUAL | {"acts": [4, 4], "outcomes": [3, 3], "results": [], "errors": [], "now": None},
    "settled_before": LEASES,
    "holders": {"ids": IDS, "epochs": [1, 1]},
    "lock_leases": LEASES | {"in_job": False, "family": False, "now": None},
    "lease_states": LEASES,
    "get": {"ids": IDS, "with_payload": True, "with_error": True},
    "lock_tasks": {"ids": IDS},
    "lock_live": {"ids": IDS},
    "request_cancel": {"ids": IDS},
    "reschedule_tasks": {"ids": IDS, "lanes": [1, 1], "due_at": [1, 1]},
    "reschedule_live": {"ids": IDS, "lanes": [1, 1], "due_at": [1, 1]},
    "record": {name: [1, 1] for name in SQL["record"].names}
    | {"ids": IDS, "states": [1, 4], "results": [], "errors": [], "now": None},
    "known_keys": {"tenants": ["default"], "keys": ["k"]},
    "forget_keys": {"keys": ["k"], "tasks": IDS[:1]},
    "traces": {"ids": IDS},
    "lane_numbers": {"tenants": ["default"], "queues": ["default"], "names": ["work"], "priorities": [0]},
    "lane_names": {"lanes": [1]},
    "task_states": {"ids": IDS},
    "attempts": {"id": IDS[0], "tenant": None, "before": 1000, "limit": 100},
    "beat": {
        "sessions": [7], "firsts": [1], "lasts": [2], "memories": [1 << 20], "cpus": [0.5], "owners": [7, 7],
        "tasks": IDS, "epochs": [1, 1], "nonces": [5, 5], "now": None,
    },
    "claimed_before": {"session": 7, "nonce": 5},
    "large_payloads": {"ids": IDS, "most": 1000},
    "read_outbox": {"after": 0, "limit": 100},
    "read_acts": {"after": 0, "until": 100},
    "last_chunks": {"tasks": IDS, "epochs": [1, 1], "limit": 8},
    "write_dead_letters": {
        "ids": IDS, "epochs": [1, 1], "reasons": ["poison"] * 2, "fingerprints": ["a", "b"], "kinds": ["K"] * 2,
        "messages": ["m"] * 2, "said": ["s"] * 2,
    },
    "drop_dead_letters": {"ids": IDS},
    "get_dead_letters": {"ids": IDS},
    "reasons": {"ids": IDS, "attempts": [1, 1]},
    "own_tasks": {"ids": IDS},
    "log_from": {"id": IDS[0], "epoch": 0, "seq": 0, "offset": 0, "pieces": 100, "longest": 9, "tenant": "default"},
    "artifact": {"id": IDS[0], "name": "a", "tenant": "default"},
    "keep_payload": {"id": IDS[0], "epoch": 1, "now": None},
    "edit_payload": {"id": IDS[0], "payload": ""},
    "lock_bulk": {"id": IDS[0], "now": None},
    "next_bulk_items": {"id": IDS[0], "position": 0, "limit": 100},
    "in_jobs": {"ids": IDS},
    "jobs": {"ids": IDS},
    "lock_jobs": {"ids": IDS},
    "share_jobs": {"ids": IDS},
    "start_jobs": {"ids": IDS, "now": None},
    "children": {"ids": IDS},
    "descendants": {"ids": IDS},
    "hold_back": {"ids": IDS},
    "unended_parents": {"ids": IDS},
    "complete_in_jobs": LEASES
    | {f"usual_{name}": None for name in ("epochs", "nonces", "results", "jobs")} | {"results": [], "jobs": IDS}
    | {"act": 4, "outcome": 3, "unblock": 1, "now": None},
    "unblock": {"ids": IDS, "act": 1, "now": None},
    "count_parents": {"ids": IDS, "pending": [1, 1], "bad": [0, 0]},
    "blame": {"ids": IDS, "causes": IDS},
    "tally": {name: [1, 1] for name in SQL["tally"].names} | {"ids": IDS, "now": None},
    "known_jobs": {"ids": IDS, "tenants": ["default", "default"], "keys": ["k", "l"]},
    "job_keys": {"ids": IDS},
    "lock_in_job": {"job": IDS[0]},
    "members": {"job": IDS[0]},
    "nodes": {"job": IDS[0]},
    "job_attempts": {"job": IDS[0], "limit": 100},
    "results": {"jobs": IDS, "keys": ["a", "b"]},
    "running_in_jobs": {"ids": IDS},
    "deps": {"ids": IDS},
    "mark_deps": {"job": IDS[0], "pending": IDS},
    "dep_done": {"job": IDS[0], "needed": IDS[1]},
    "jobs_waiting_for": {"needed": IDS[0], "limit": 10},
    "prune_jobs": {"ids": IDS},
    "lock_ended": {"above": IDS[0], "below": IDS[1], "before": 1, "limit": 100},
    "lock_ended_jobs": {"before": 1, "limit": 100},
    "prune": {"ids": IDS},
    "next_signal": {"task": IDS[0], "tenant": "default", "name": "paid", "correlation": "k1"},
    "find_signal_by_key": {"tenant": "default", "name": "paid", "key": "k1", "id": "s1"},
    "count_untaken": {"task": None, "tenant": "default", "name": "paid", "key": "k1"},
    "free_signals": {"tenant": "default", "name": "paid", "key": "k1", "limit": 100},
    "take_signal": {"task": IDS[0], "id": "s1", "at": 1},
    "take_signal_by_key": SIGNAL | {"task": IDS[0], "at": 1},
    "give_signal": SIGNAL | {"task": IDS[0], "watch": 1},
    "given_was_taken": SIGNAL | {"no": 1, "at": 1},
    "given_was_refused": SIGNAL | {"no": 1},
}  # fmt: skip

REAPING: dict[str, dict[str, Any]] = {
    "lock_orphans": {"limit": 100, "in_job": False, "only": None},
    "orphans": {"limit": 100, "in_job": True, "only": None},
    "forget_claims": {},
}

COUNTING: dict[str, dict[str, Any]] = {"count_live": {"lanes": None, "now": 10_000, "limit": 50, "looked": 100}}

SAMPLING: dict[str, dict[str, Any]] = {"count_waiting": {"now": 4_000_000_000_000}}


@pytest.fixture
async def connection(still_url: str) -> AsyncIterator[Connection]:
    """A connection as the store makes them, on a database with one lane and one session."""
    store = await PostgresStore.open(still_url)
    await submit(store)
    await open_session(store)
    await store.close()
    opened = await asyncpg.connect(still_url, server_settings=SETTINGS)
    await opened.execute("UPDATE drumline.session SET id = 7")
    yield opened
    await opened.close()


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


async def plan_of(connection: Connection, name: str, how: str) -> list[dict[str, Any]]:
    values = [literal(value) for value in SQL[name].arguments((HOT | REAPING | COUNTING | SAMPLING)[name])]
    given = f"({', '.join(values)})" if values else ""
    (row,) = await connection.fetch(f"EXPLAIN ({how}, FORMAT JSON) EXECUTE hot_{name}{given}")
    return list(nodes(json.loads(row[0])[0]["Plan"]))


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "'{" + ",".join(str(item) for item in value) + "}'"
    return f"'{value}'"


async def untouched(_connection: Connection) -> None:
    """Leave the tables as a migration makes them."""


async def analyzed(connection: Connection) -> None:
    """Let PostgreSQL know that the tables are tiny."""
    for (table,) in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'drumline'"):
        await connection.execute(f"VACUUM ANALYZE drumline.{table}")


async def emptied(connection: Connection) -> None:
    """Let PostgreSQL know that the tables were large and are empty now."""
    await connection.execute(FILL_WELL)
    for table in ("task", "task_live", "attempt", "job", "job_task", "task_edge", "job_dep", "signal"):
        await connection.execute(f"DELETE FROM drumline.{table}")
    await analyzed(connection)


async def pinned(connection: Connection) -> None:
    """Let PostgreSQL know that nothing lives in the tables, although their pages cannot be given back."""
    tables = "relnamespace = 'drumline'::regnamespace AND relkind IN ('r', 'i')"
    await connection.execute(f"UPDATE pg_class SET reltuples = 0, relpages = 1000 WHERE {tables}")


LEADING = defaultdict(
    str,
    {
        "task_live_due": "lane",
        "task_by_lane": "lane",
        "job_by_status": "status",
        "job_by_tenant": "tenant",
        "job_by_name": "name",
        "job_by_owner": "owner",
        "job_by_schedule": "schedule_id",
    },
)
"""The first column of indexes that have an id behind it."""
SMALL = ("lane", "queue_pause", "flow_limit")
"""Tables that stay small: reading the whole of them is right."""


@pytest.mark.parametrize("prepare", [untouched, analyzed, emptied, pinned])
async def test_plans_made_on_empty_tables_are_right_for_large_ones(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    await prepare(connection)
    for name in HOT:
        await connection.execute(f"PREPARE hot_{name} AS {SQL[name].text}")
        for node in await plan_of(connection, name, "COSTS OFF"):
            if node.get("Relation Name") not in (None, *SMALL) and node["Node Type"] != "ModifyTable":
                assert node["Node Type"] in {"Index Scan", "Index Only Scan"}, (name, node)
                assert "Index Cond" in node, (name, node)
                # Behind a lane every id can be looked up, by reading the whole index.
                assert LEADING[node["Index Name"]] in node["Index Cond"], (name, node)
    await connection.execute(FILL)

    for name in HOT:
        await connection.execute("BEGIN")
        found = await plan_of(connection, name, "ANALYZE, TIMING OFF")
        await connection.execute("ROLLBACK")

        read = [
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for node in found
            if node["Node Type"].startswith("Index")
        ]
        assert name != "claim_due" or found[0]["Actual Rows"] == 100
        assert max(read, default=0) <= 200, f"{name} reads {max(read)} rows"


WITHIN = (
    "get", "own_tasks", "attempts", "log_from", "artifact", "jobs", "nodes", "job_attempts", "running_in_jobs", "deps",
    "get_dead_letters",
)  # fmt: skip
"""What is asked all the time from within a tenant's wall."""


@pytest.mark.parametrize("prepare", [untouched, analyzed, emptied])
async def test_a_wall_makes_no_statement_read_more(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    await prepare(connection)
    role = f"drumline_tenant_{await connection.fetchval('SELECT current_database()')}"
    await connection.execute(f"SET ROLE {role}; SET drumline.tenant = 'default'")
    for name in WITHIN:
        await connection.execute(f"PREPARE hot_{name} AS {SQL[name].text}")
        await plan_of(connection, name, "COSTS OFF")  # so that it is planned now
    await connection.execute("RESET ROLE")
    await connection.execute(FILL)
    await connection.execute(
        "INSERT INTO drumline.lane (tenant, queue, name, priority) SELECT t::text, 'q', 'n', 0 "
        "FROM generate_series(1, 10000) AS t"
    )
    await connection.execute(f"SET ROLE {role}")

    for name in WITHIN:
        found = await plan_of(connection, name, "ANALYZE, TIMING OFF")

        read = [
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for node in found
            if "Relation Name" in node
        ]
        assert max(read) <= 200, f"{name} reads {max(read)} rows"


@pytest.mark.parametrize("prepare", [untouched, analyzed])
async def test_reaping_reads_nothing_of_what_waits(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    for setting, value in BROAD.items():
        await connection.execute(f"SET {setting} = '{value}'")
    await connection.execute(FILL_WELL)
    await prepare(connection)
    for name in REAPING:
        await connection.execute(f"PREPARE hot_{name} AS {SQL[name].text}")

        found = await plan_of(connection, name, "ANALYZE, TIMING OFF")

        live = [node for node in found if node.get("Relation Name") == "task_live"]
        read = [(node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in live]
        assert max(read) <= 10, f"{name} reads {max(read)} rows"


@pytest.mark.parametrize("prepare", [untouched, analyzed])
async def test_what_waits_is_counted_by_reading_what_is_due_once(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    for setting, value in BROAD.items():
        await connection.execute(f"SET {setting} = '{value}'")
    await connection.execute(FILL_WELL)
    await connection.execute("UPDATE drumline.task_live SET due_at = 5000000000000 WHERE random() < 0.9")
    await prepare(connection)
    await connection.execute(f"PREPARE hot_count_waiting AS {SQL['count_waiting'].text}")

    found = await plan_of(connection, "count_waiting", "ANALYZE, TIMING OFF")

    live = [node for node in found if node.get("Relation Name") == "task_live"]
    read = sum((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in live)
    due = await connection.fetchval("SELECT count(*) FROM drumline.task_live WHERE due_at < 5000000000000")
    lanes = await connection.fetchval("SELECT count(DISTINCT lane) FROM drumline.task_live")
    assert due <= read <= due + 2 * lanes


@pytest.mark.parametrize("prepare", [untouched, analyzed, emptied, pinned])
async def test_each_status_is_counted_by_reading_no_more_than_its_own_bound(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    await prepare(connection)
    await connection.execute(f"PREPARE hot_count_live AS {SQL['count_live'].text}")
    await plan_of(connection, "count_live", "COSTS OFF")  # so that it is planned now
    await connection.execute(FILL)
    await connection.execute(
        "UPDATE drumline.task_live SET due_at = NULL, state = 0 WHERE due_at % 3 = 0;"
        "INSERT INTO drumline.claim (session, nonce, beat, tasks) SELECT 7, n, 0, ARRAY(SELECT l.id "
        "FROM drumline.task_live AS l LIMIT 100) FROM generate_series(1, 50) AS n;"
    )

    found = await plan_of(connection, "count_live", "ANALYZE, TIMING OFF")

    live = [node for node in found if node.get("Relation Name") == "task_live"]
    read = {
        (node["Node Type"], (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in live
    }
    assert len(live) == 4
    assert {kind for kind, _ in read} <= {"Index Scan", "Index Only Scan"}
    assert max(rows for _, rows in read) <= 100, read


@pytest.mark.parametrize("prepare", [untouched, analyzed, pinned])
async def test_positions_are_given_without_holding_each_row_against_every_other(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    await prepare(connection)
    await connection.execute(f"PREPARE hot_sequence AS {SQL['sequence'].text}")
    await connection.execute("EXPLAIN EXECUTE hot_sequence('1000')")  # so that it is planned now
    await connection.execute(
        "INSERT INTO drumline.outbox (at, tasks, acts, states, epochs) SELECT 1, '{}', '{}', '{}', '{}' "
        "FROM generate_series(1, 1000)"
    )

    (row,) = await connection.fetch("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE hot_sequence('1000')")

    removed = ("Rows Removed by Filter", "Rows Removed by Join Filter")
    looked_at = [
        (node["Actual Rows"] + sum(node.get(word, 0) for word in removed)) * node["Actual Loops"]
        for node in nodes(json.loads(row[0])[0]["Plan"])
    ]
    assert max(looked_at) <= 2000


async def test_claims_are_hot_updates(empty_postgres_url: str) -> None:
    store = await PostgresStore.open(empty_postgres_url)
    await store.migrate()
    for _ in range(200):
        await submit(store)
    ada = await open_session(store)

    assert len(await claim(store, ada, limit=200)) == 200

    await store.close()
    connection = await asyncpg.connect(empty_postgres_url)

    async def is_counted() -> bool:
        return (await updates(connection))[0] >= 200

    await until(is_counted)  # a connection that was closed reports what it did when its process ends
    assert await updates(connection) == (200, 200)
    await connection.close()


async def updates(connection: Connection) -> tuple[int, int]:
    await connection.execute("SELECT pg_stat_force_next_flush()")
    row = await connection.fetchrow(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'task_live'"
    )
    assert row is not None
    return row[0], row[1]
