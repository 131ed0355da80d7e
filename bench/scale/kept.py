"""A million ended tasks are kept: a new one costs what it cost before."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Final

import asyncpg

from bench.scale.compare import compare
from bench.scale.rack import Scale, System, drain, submit
from bench.scale.report import say
from bench.services import postgres, redis
from drumline.stores.postgres.connection import SETTINGS
from drumline.stores.postgres.statements import SQL

KEPT: Final = 1_000_000
PIECE: Final = 250_000
HOT: Final = (
    "submit",
    "claim_hinted",
    "claim_due",
    "next_due",
    "settle",
    "beat",
    "lease_states",
    "settled_before",
    "get",
)


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    with postgres() as server, redis() as one, redis() as other:
        empty = System(name="empty", server=server, broker=one)
        full = System(name="full", server=server, broker=other)
        empty.create()
        full.create()
        kept = scale.of(KEPT)
        for number in range(0, kept, PIECE):
            piece = min(PIECE, kept - number)
            submit(full, piece)
            drain(full, piece)
            say(f"{number + piece:,} tasks ended")
        speed = compare(empty, full, rounds=4 if scale.quick else 6, tasks=60_000 if scale.quick else 100_000)
        sizes = full.execute("SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE n_live_tup > 999 ORDER BY 1")
        scans = asyncio.run(_scans(full))
    holds = {
        "submit_within_10_percent": speed["submit"]["speed_ratio"] >= 0.9 or speed["submit"]["cost_ratio"] <= 1.1,
        "drain_within_10_percent": speed["drain"]["speed_ratio"] >= 0.9 or speed["drain"]["cost_ratio"] <= 1.1,
        "no_table_is_scanned": not any(scans.values()),
    }
    return {"kept": kept, **speed, "rows": sizes.replace("\n", " "), "tables_scanned": scans, "holds": holds}


async def _scans(system: System) -> dict[str, list[str]]:
    """Return which tables of tasks the hot statements read as a whole, planned as the store plans them."""
    connection = await asyncpg.connect(system.store_url, server_settings=SETTINGS)
    try:
        return {name: await _scanned(connection, name) for name in HOT}
    finally:
        await connection.close()


async def _scanned(connection: "asyncpg.Connection[asyncpg.Record]", name: str) -> list[str]:
    await connection.execute(f"PREPARE hot_{name} AS {SQL[name].text}")
    # One set of generic plans serves all parameters, so NULL tells as much as any.
    nulls = ", ".join("NULL" for _ in SQL[name].names)
    (row,) = await connection.fetch(f"EXPLAIN (FORMAT JSON) EXECUTE hot_{name}({nulls})")
    return [node["Relation Name"] for node in _nodes(json.loads(row[0])[0]["Plan"]) if node["Node Type"] == "Seq Scan"]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
