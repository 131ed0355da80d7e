"""Examining the server: what it says of itself, in a few statements on one connection."""

import asyncio
from typing import Final

import asyncpg

from drumline.core.doctor_report import LongTransaction, PostgresFacts, TableFacts
from drumline.stores.clock_reading import clock_distance
from drumline.stores.postgres.connection import SETTINGS, Connection, connect, connect_direct, fetch
from drumline.stores.postgres.failures import translated

SECONDS: Final = 10.0


async def examine_postgres(url: str) -> PostgresFacts:
    """Return the facts, or raise `Unavailable` if the server cannot be reached."""
    try:
        async with asyncio.timeout(SECONDS):
            return await _examine(url)
    except Exception as error:
        if (meaning := translated(error)) is not None:
            raise meaning from error
        raise


async def _examine(url: str) -> PostgresFacts:
    direct = await connect_direct(url, settings={"application_name": SETTINGS["application_name"]}, seconds=SECONDS)
    is_by_statement = direct is None and await _is_by_statement(url)
    connection = direct or await connect(url, settings=None, seconds=SECONDS)
    try:
        if is_by_statement:
            return _taken_apart(connection)
        # A pooler may give the preparation and the execution to two servers, unless a transaction joins them.
        async with connection.transaction(readonly=True):
            return await _ask(connection, is_pooled=direct is None)
    finally:
        await connection.close(timeout=SECONDS)


def _taken_apart(connection: Connection) -> PostgresFacts:
    """Return what can be said of a server behind a pooler by statement, through which nothing can be asked."""
    version = connection.get_server_version()
    return PostgresFacts(
        version=version.major * 10_000 + version.minor, clock=0, is_pooled=True, is_by_statement=True, is_standby=False,
        settings={}, connections=0, applied=(), major=None, tables=(), transactions=(),
    )  # fmt: skip


async def _ask(connection: Connection, *, is_pooled: bool) -> PostgresFacts:
    async def clock() -> float:
        ((now,),) = await fetch(connection, "now", {"now": None})
        return float(now) / 1000

    distance = await clock_distance(clock)
    server = (await fetch(connection, "examine_server", {}))[0]
    has_schema = server["has_schema"]
    versions = await fetch(connection, "schema_version", {}) if has_schema else []
    tables = await fetch(connection, "examine_tables", {}) if has_schema else []
    walls = await fetch(connection, "wall", {}) if has_schema else []
    return PostgresFacts(
        version=server["version"],
        clock=round(distance * 1000),
        is_pooled=is_pooled,
        is_by_statement=False,
        is_standby=server["is_standby"],
        settings={row["name"]: row["setting"] for row in await fetch(connection, "examine_settings", {})},
        connections=server["connections"],
        applied=tuple(row["number"] for row in versions),
        major=versions[0]["major"] if versions else None,
        tables=tuple(TableFacts(*row) for row in tables),
        transactions=tuple(LongTransaction(*row) for row in await fetch(connection, "examine_transactions", {})),
        wall=walls[0]["missing"] if walls else None,
    )


async def _is_by_statement(url: str) -> bool:
    """Tell whether a pooler gives each statement to another connection: then it refuses transactions, and hangs up."""
    connection = await connect(url, settings=None, seconds=SECONDS)
    try:
        await connection.execute("BEGIN")
        await connection.execute("ROLLBACK")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return True
    finally:
        connection.terminate()
    return False
