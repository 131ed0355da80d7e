"""Finding what is due stays quick, however much was delivered and however much waits for one who does not answer."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from drumline.stores.postgres.connection import SETTINGS, Connection
from drumline.stores.postgres.statements import SQL

DELIVERED = 50_000
WAITING = 20_000
FILL = f"""
INSERT INTO drumline.delivery (
    id, created_at, finished_at, channel, state, tenant, event_id, event_type, subject, address, event
)
SELECT gen_random_uuid(), n, n, n % 2, 1, 'default', n::text, 't', 's', 'https://done.example/' || n % 50, '{{}}'
FROM generate_series(1, {DELIVERED}) AS n;
INSERT INTO drumline.delivery (id, created_at, next_at, channel, tenant, event_id, event_type, subject, address, event)
SELECT gen_random_uuid(), n, n, n % 2, 'default', 'w' || n, 't', 's', 'dead', '{{}}'
FROM generate_series(1, {WAITING}) AS n;
INSERT INTO drumline.delivery (id, created_at, next_at, channel, tenant, event_id, event_type, subject, address, event)
SELECT gen_random_uuid(), 1, 1, n % 2, 'default', 'l' || n, 't', 's', 'lively', '{{}}'
FROM generate_series(1, 2) AS n;
"""
CLAIMS: dict[str, dict[str, Any]] = {
    "claim_webhooks": {"holder": 1, "limit": 32, "each": 4, "lease_ms": 1000, "busy": [], "now": None},
    "record_deliveries": {
        "ids": ["0190f2a4-0000-7000-8000-000000000001"], "states": [1], "delays": [0], "statuses": [200],
        "responses": ["ok"], "errors": [None], "latencies": [1], "holder": 1, "now": None,
    },
    "due_mailboxes": {"limit": 8, "now": None},
    "claim_mail": {
        "holder": 1, "each": 100, "lease_ms": 1000, "now": 1_700_000_000_000, "address": "dead", "tenant": "default",
    },
}  # fmt: skip


@pytest.fixture
async def connection(still_url: str) -> AsyncIterator[Connection]:
    """A connection whose statements were planned while there were no deliveries; now there are many."""
    opened = await asyncpg.connect(still_url, server_settings=SETTINGS)
    await opened.execute("VACUUM ANALYZE drumline.delivery")
    for name, values in CLAIMS.items():
        await opened.execute(f"PREPARE {name} AS {SQL[name].text}")
        await opened.execute(f"EXECUTE {name}({', '.join(map(literal, SQL[name].arguments(values)))})")
    await opened.execute(FILL)
    yield opened
    await opened.close()


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "'{" + ",".join("NULL" if item is None else str(item) for item in value) + "}'"
    return f"'{value}'"


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


@pytest.mark.parametrize("name", CLAIMS)
async def test_only_what_is_taken_is_read(connection: Connection, name: str) -> None:
    values = ", ".join(map(literal, SQL[name].arguments(CLAIMS[name])))

    (row,) = await connection.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}({values})")

    read = [
        (node["Node Type"], node.get("Index Name"), _rows(node))
        for node in nodes(json.loads(row[0])[0]["Plan"])
        if node.get("Relation Name") == "delivery"
    ]
    assert read
    assert {kind for kind, _, _ in read} <= {"Index Scan", "Index Only Scan", "ModifyTable"}
    assert sum(rows for kind, _, rows in read if kind != "ModifyTable") <= 250, read


def _rows(node: dict[str, Any]) -> int:
    """Return how many rows a step has looked at, those that it left out included."""
    return int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
