"""Plans for firing that are made on empty tables stay right when there are many schedules and runs."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from drumline.stores.postgres.connection import SETTINGS, Connection
from drumline.stores.postgres.statements import SQL
from tests.postgres.test_plans import analyzed, literal, nodes, pinned, untouched

ID = "0190f2a4-0000-7000-8000-000000000001"
FILL = """
INSERT INTO drumline.schedule (id, created_at, tenant, name, rule, policy, target)
SELECT gen_random_uuid(), n, 'default', 's' || n, '{}', '{"overlap":"queue"}', '{}' FROM generate_series(1, 20000) AS n;
INSERT INTO drumline.schedule_live (id, state, fire_at, due_at, changed_at, last_task, last_job)
SELECT id, 0, created_at, created_at, 0, gen_random_uuid(), gen_random_uuid() FROM drumline.schedule;
INSERT INTO drumline.schedule_run (schedule_id, fire_time, created_at, kind, state)
SELECT s.id, n, n, 0, 0 FROM drumline.schedule AS s, generate_series(1, 5) AS n;
"""
HOT: dict[str, dict[str, Any]] = {
    "lock_due_schedules": {"limit": 100, "now": 100_000},
    "lock_runs_to_start": {"limit": 100, "now": 100_000},
    "lock_queued_runs": {"limit": 100, "now": 100_000},
    "due_schedules": {"ids": [ID]},
    "queued_runs": {"ids": [ID]},
    "advance_schedules": {
        **{name: [1] for name in SQL["advance_schedules"].names},
        "ids": [ID], "last_tasks": [ID], "last_jobs": [ID], "finished": [False],
    },
    "insert_runs": {
        **{name: [1] for name in SQL["insert_runs"].names}, "schedules": [ID], "tasks": [ID], "jobs": [ID], "now": None,
    },
    "start_runs": {
        **{name: [1] for name in SQL["start_runs"].names}, "schedules": [ID], "tasks": [ID], "jobs": [ID], "now": None,
    },
    "take_queued": {"schedules": [ID], "fire_times": [1], "tasks": [ID], "jobs": [ID]},
    "schedules": {"ids": [ID]},
    "list_runs": {"schedule": ID, "before": 9, "limit": 100, "tenant": "default"},
    "fire_times": {"schedule": ID, "after": 0, "until": 9},
    "prune_runs": {"before": 2, "limit": 100},
}  # fmt: skip
FEW = frozenset({"schedule_live_waiting", "schedule_run_to_start"})
"""Indexes of which the whole may be read: they hold what waits, and nothing else."""


@pytest.fixture
async def connection(still_url: str) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(still_url, server_settings=SETTINGS)
    yield opened
    await opened.close()


async def plan_of(connection: Connection, name: str, how: str) -> list[dict[str, Any]]:
    values = [literal(value) for value in SQL[name].arguments(HOT[name])]
    (row,) = await connection.fetch(f"EXPLAIN ({how}, FORMAT JSON) EXECUTE hot_{name}({', '.join(values)})")
    return list(nodes(json.loads(row[0])[0]["Plan"]))


@pytest.mark.parametrize("prepare", [untouched, analyzed, pinned])
async def test_firing_finds_its_rows_by_index(
    connection: Connection, prepare: Callable[[Connection], Awaitable[None]]
) -> None:
    await prepare(connection)
    for name in HOT:
        await connection.execute(f"PREPARE hot_{name} AS {SQL[name].text}")
        for node in await plan_of(connection, name, "COSTS OFF"):
            if node.get("Relation Name") is not None and node["Node Type"] != "ModifyTable":
                assert node["Node Type"] in {"Index Scan", "Index Only Scan", "Tid Scan"}, (name, node)
                assert {"Index Cond", "TID Cond"} & node.keys() or node["Index Name"] in FEW, (name, node)
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
        assert name != "lock_due_schedules" or 100 in [node["Actual Rows"] for node in found]
        assert max(read, default=0) <= 200, f"{name} reads {max(read)} rows"
