"""A million tasks have ended and are kept no longer: how fast they are let go, and at which cost."""

import asyncio
import sqlite3
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from bench.scale.rack import Scale, System, Window
from bench.scale.report import say
from bench.services import postgres
from drumline.ports.store import Store
from drumline.scheduler.prune import Pruner
from drumline.stores.sqlite import SqliteStore

ENDED: Final = 1_000_000
LIVING: Final = 20_000
UNREAD: Final = 10_000
"""Rows of the log of changes that somebody has yet to read: of tasks that are kept."""
HOUR_MS: Final = 3_600_000
LANE: Final = "INSERT INTO {schema}lane (tenant, queue, name, priority) VALUES ('bench', 'default', 'noop', 0)"
CURSOR: Final = "INSERT INTO {schema}event_cursor (consumer, position, moved_at) VALUES ('bench', 0, 0)"
POSTGRES_TASKS: Final = """
WITH born AS MATERIALIZED (
    SELECT
        g.n, g.at,
        (lpad(to_hex(g.at), 12, '0') || '7000' || '8' || substr(md5(g.n::text), 1, 15))::uuid AS id
    FROM (SELECT n, {first}::int8 + n / 20 AS at FROM generate_series(1, {count}) AS n) AS g
),
living AS (
    INSERT INTO drumline.task_live (id, due_at, lane) SELECT id, at, 1 FROM born WHERE {living}
),
ended AS (
    INSERT INTO drumline.attempt (task_id, nonce, due_at, started_at, finished_at, epoch, lane, attempt, outcome)
    SELECT id, n, at, at + 5, at + 10, 1, 1, 1, 3 FROM born WHERE NOT {living}
)
INSERT INTO drumline.task (id, due_at, created_at, lane, payload) SELECT id, at, at, 1, '{{}}' FROM born
"""
POSTGRES_LOG: Final = """
INSERT INTO drumline.outbox (lane, at, tasks, acts, states, epochs)
SELECT
    1, {now}, ids, array_fill(0::int2, ARRAY[500]), array_fill(1::int2, ARRAY[500]), array_fill(0::int4, ARRAY[500])
FROM (SELECT array_agg(id) AS ids FROM (SELECT id FROM drumline.task LIMIT 500) AS t) AS a, generate_series(1, {count})
"""


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    return {"ended": scale.of(ENDED), "postgres": _postgres(scale), "sqlite": asyncio.run(_sqlite(scale))}


def _postgres(scale: Scale) -> dict[str, Any]:
    with postgres() as server:
        system = System(name="prune", server=server, broker=None)
        system.create()
        now = round(time.time() * 1000)
        system.execute(LANE.format(schema="drumline."))
        system.execute(POSTGRES_TASKS.format(first=now - 2 * HOUR_MS, count=scale.of(ENDED), living="false"))
        system.execute(POSTGRES_TASKS.format(first=now - 60_000, count=LIVING, living="true"))
        system.execute(CURSOR.format(schema="drumline."))
        system.execute(POSTGRES_LOG.format(now=now, count=UNREAD))
        system.settle_down()
        return asyncio.run(_prune_postgres(system))


async def _prune_postgres(system: System) -> dict[str, Any]:
    async with system.engine() as engine:
        return await _prune(engine.store, system.pids())


async def _sqlite(scale: Scale) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="drumline-prune-") as folder:
        file = Path(folder) / "drumline.db"
        await (await SqliteStore.open(file)).close()
        _fill_sqlite(file, scale.of(ENDED))
        store = await SqliteStore.open(file)
        try:
            return await _prune(store, {})
        finally:
            await store.close()


def _fill_sqlite(file: Path, count: int) -> None:
    now = round(time.time() * 1000)
    old = [(f"{_id(now - 2 * HOUR_MS + n // 20, n)}", now - 2 * HOUR_MS + n // 20) for n in range(count)]
    new = [(f"{_id(now - 60_000 + n // 20, n)}", now - 60_000 + n // 20) for n in range(LIVING)]
    with sqlite3.connect(file) as connection:
        connection.execute(LANE.format(schema=""))
        connection.executemany(
            "INSERT INTO task (id, lane, payload, due_at, created_at) VALUES (?1, 1, '{}', ?2, ?2)", old + new
        )
        connection.executemany("INSERT INTO task_live (id, lane, due_at, state) VALUES (?1, 1, ?2, 1)", new)
        connection.executemany(
            "INSERT INTO attempt (task_id, epoch, attempt, outcome, started_at, finished_at) "
            "VALUES (?1, 1, 1, 3, ?2, ?2 + 10)",
            old,
        )
        connection.execute(CURSOR.format(schema=""))
        connection.executemany("INSERT INTO outbox (at, events) VALUES (?, ?)", [(now, "x" * 10_000)] * UNREAD)
    connection.close()


def _id(ms: int, number: int) -> str:
    text = f"{ms:012x}"
    return f"{text[:8]}-{text[8:]}-7000-8000-{number:012x}"


async def _prune(store: Store, pids: dict[str, list[int]]) -> dict[str, Any]:
    say("tasks have ended")
    pruner = Pruner(store, retention=timedelta(hours=1))
    window = Window(pids=pids, has_own=True)
    pruned = 0
    while count := await pruner.pass_once():
        pruned += count
    return {"pruned": pruned, **window.end(pruned)}
