"""One connection to PostgreSQL: how it is opened, and what it says to the server."""

from typing import Any, Final, TypeAlias

import asyncpg

from drumline.stores.postgres.statements import SQL

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Record: TypeAlias = asyncpg.Record
Rows: TypeAlias = list[asyncpg.Record]

DIRECT: Final = "drumline.direct"
"""A setting that only a server of our own knows: where it cannot be set, a pooler stands in between."""

SETTINGS: Final = {
    "application_name": "drumline",
    "jit": "off",  # it costs more than the short statements that it would compile
    # Statements are planned once per connection, often when the tables are empty. Without these, such a plan would
    # read whole tables, and stay: every hot statement finds its rows by a key, and has to be planned so. For the same
    # reason no hot statement leaves a join to the planner: it looks rows up by `= any(array)`, or in a subquery that
    # OFFSET 0 or FOR UPDATE keeps apart, since for a table of one row any other way looks as good.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    "default_transaction_isolation": "read committed",
    "idle_in_transaction_session_timeout": "60s",
    "tcp_user_timeout": "20s",
}

BROAD: Final = {
    "plan_cache_mode": "force_custom_plan",
    "enable_seqscan": "on",
    "enable_hashjoin": "on",
    "enable_mergejoin": "on",
    "enable_bitmapscan": "on",
    "random_page_cost": "1.1",  # where an index finds what is asked for, it is used, also for much of a table
    "max_parallel_workers_per_gather": "0",  # a count may take long, and no core from claims
}
"""For those few statements that look at much of a table: let the planner choose, each time anew."""

LOCAL: Final = frozenset({"jit", "statement_timeout", *BROAD}) - {"plan_cache_mode"}
"""What is worth saying for one transaction. Statements are planned for it anew, so there are no plans to keep."""

STATEMENTS_KEPT: Final = 200


async def connect(url: str, *, settings: dict[str, str] | None, seconds: float) -> Connection:
    """Open a connection; without settings it is made for a pooler, where nothing may outlive a transaction."""
    return await asyncpg.connect(
        url,
        timeout=seconds,
        server_settings=settings,
        statement_cache_size=0 if settings is None else STATEMENTS_KEPT,
        max_cached_statement_lifetime=0,
        max_cacheable_statement_size=0,
    )


async def connect_direct(url: str, *, settings: dict[str, str], seconds: float) -> "Connection | None":
    """Open a connection to PostgreSQL itself; None if the address is that of a pooler."""
    try:
        connection = await connect(url, settings=settings | {DIRECT: "on"}, seconds=seconds)
    except asyncpg.ProtocolViolationError:  # PgBouncer: "unsupported startup parameter"
        return None
    try:
        await connection.execute(f"SHOW {DIRECT}", timeout=seconds)
    except asyncpg.UndefinedObjectError:  # a pooler that passes over what it does not know
        connection.terminate()
        return None
    return connection


async def fetch(connection: Connection, name: str, values: dict[str, Any]) -> Rows:
    """Run a statement of this backend."""
    statement = SQL[name]
    return await connection.fetch(statement.text, *statement.arguments(values))


async def meet(connection: Connection, name: str) -> None:
    """Let both sides look up what a statement of this backend is about, without running it."""
    await connection.prepare(SQL[name].text)
