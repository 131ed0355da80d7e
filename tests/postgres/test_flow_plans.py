"""Plans for fair shares and limits that are made on empty tables stay right when very much waits."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from drumline.stores.postgres.connection import SETTINGS, Connection
from drumline.stores.postgres.statements import SQL
from tests.postgres.test_plans import ABLE, CLAIM, SMALL, analyzed, literal, nodes, pinned, untouched

WAITING = 20_000
FILL = f"""
INSERT INTO drumline.session (id, opened_at, beat_at, spec) VALUES (7, 0, 0, '{{}}');
INSERT INTO drumline.lane (tenant, queue, name, priority, is_keyed)
VALUES ('acme', 'default', 'work', 0, false), ('bolt', 'default', 'work', 0, false),
('acme', 'default', 'few', 0, false), ('acme', 'default', 'keyed', 0, true), ('acme', 'default', 'keyed', 0, false);
INSERT INTO drumline.flow_limit (tenant, name, task, max_concurrent, created_at)
VALUES ('acme', 'few', 'few', 3, 0);
INSERT INTO drumline.flow_limit (tenant, name, task, max_concurrent, keyed_by, created_at)
VALUES ('acme', 'keyed', 'keyed', 3, 'limit_key', 0);
INSERT INTO drumline.task_live (id, lane, due_at)
SELECT gen_random_uuid(), 1, n FROM generate_series(1, {WAITING}) AS n;
INSERT INTO drumline.task_live (id, lane, due_at)
SELECT gen_random_uuid(), 2, {WAITING} + n FROM generate_series(1, 10) AS n;
INSERT INTO drumline.task_live (id, lane, due_at)
SELECT gen_random_uuid(), 3, n FROM generate_series(1, {WAITING}) AS n;
INSERT INTO drumline.task_live (id, lane, due_at, limit_key)
SELECT gen_random_uuid(), 4, n, CASE WHEN n < {WAITING} - 10 THEN 1 ELSE n END FROM generate_series(1, {WAITING}) AS n;
INSERT INTO drumline.slot (limit_id, limit_key, task_id, epoch, started_at)
SELECT 2, n, gen_random_uuid(), 1, n FROM generate_series(1, {WAITING}) AS n;
INSERT INTO drumline.limit_share (limit_id, limit_key, changed_at)
SELECT 2, n, 0 FROM generate_series(1, {WAITING}) AS n;
"""
NAMES = ABLE | {"names": ["work", "few", "keyed"]}
ASKED: dict[str, Any] = {"limits": [1, 2], "keys": [0, 1], "since": [0, 0]}
HOT: dict[str, dict[str, Any]] = {
    "claim_shared": CLAIM | NAMES | {
        "limits": [20], "cursor_lanes": [], "cursor_due_at": [], "cursor_tasks": [],
        "share_tenants": ["acme"], "share_levels": [5_000_000], "share_steps": [1_000_000], "now": 10**9,
    },
    "limited_lanes": NAMES | {"now": 10**9},
    "due_in_lanes": {"lanes": [3], "each": 20, "now": 10**9},
    "due_by_key": {"lane": 4, "after": 0, "most": 50, "each": 3, "now": 10**9},
    "unsorted": {"lane": 3, "until": 10**9, "most": 20},
    "slot_uses": ASKED,
    "drop_slots": ASKED,
    "limit_shares": {"limits": [1, 2], "keys": [0, 1], "now": 10**9},
    "lanes_with_waiting": {"now": 10**9},
    "count_due": {"lanes": [3, 4], "most": 50, "now": 10**9},
    "count_due_of_keys": {"lanes": [4, 4], "keys": [1, 2], "most": 50, "now": 10**9},
    "keys_in_lane": {"lane": 4, "after": 0, "most": 50},
    "unsort_keys": {"twin": 4, "lane": 5, "most": 20},
}  # fmt: skip


@pytest.fixture
async def connection(still_url: str) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(still_url, server_settings=SETTINGS)
    yield opened
    await opened.close()


async def plan_of(connection: Connection, name: str, how: str) -> list[dict[str, Any]]:
    values = [literal(value) for value in SQL[name].arguments(HOT[name])]
    (row,) = await connection.fetch(f"EXPLAIN ({how}, FORMAT JSON) EXECUTE flow_{name}({', '.join(values)})")
    return list(nodes(json.loads(row[0])[0]["Plan"]))


@pytest.mark.parametrize("prepare", [untouched, analyzed, pinned])
async def test_what_waits_under_limits_or_for_its_share_is_found_by_index(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    await prepare(connection)
    for name in HOT:
        await connection.execute(f"PREPARE flow_{name} AS {SQL[name].text}")
        await plan_of(connection, name, "COSTS OFF")
    await connection.execute(FILL)

    for name in HOT:
        await connection.execute("BEGIN")
        found = await plan_of(connection, name, "ANALYZE, TIMING OFF")
        await connection.execute("ROLLBACK")
        for node in found:
            if node.get("Relation Name") not in (None, *SMALL) and node["Node Type"] != "ModifyTable":
                assert node["Node Type"] in {"Index Scan", "Index Only Scan", "Tid Scan"}, (name, node)
        read = [
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for node in found
            if node["Node Type"].startswith("Index")
        ]
        assert max(read, default=0) <= 200, f"{name} reads {max(read)} rows"
        assert name != "claim_shared" or found[0]["Actual Rows"] == 0  # the wide rows are not there
