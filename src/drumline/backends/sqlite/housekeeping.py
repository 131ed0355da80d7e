"""Keeping the store itself in order: migrations, pruning, health."""

import sqlite3
from typing import Final

from drumline.backends.sql_files import migrations
from drumline.backends.sqlite.access import Access, batch_of
from drumline.backends.sqlite.statements import SQL
from drumline.core.clock import Instant
from drumline.core.errors import Unavailable

BELONGINGS: Final = ("artifact", "task_log", "idempotency", "attempt")
"""The tables whose rows belong to a task and go with it."""


class Housekeeping(Access):
    """`ports.store.Housekeeping` on SQLite."""

    async def migrate(self) -> None:
        """Bring the schema to this version; safe to run anywhere, any number of times."""
        await self._database.write(_migrate)

    async def prune(self, *, ended_before: Instant, limit: int) -> int:
        """Delete up to `limit` tasks that ended before a time, with all that belongs to them; return how many."""
        return await self._database.write(lambda connection: _prune(connection, ended_before, limit))

    async def check(self) -> dict[str, object]:
        """Return details for the health page, or raise `Unavailable`."""
        (version,) = await self._database.read(lambda connection: connection.execute("PRAGMA user_version").fetchone())
        return {"database": "SQLite", "version": sqlite3.sqlite_version, "schema": version}

    async def close(self) -> None:
        """Finish what is under way and let go of every connection."""
        await self._database.close()


def _migrate(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    known = migrations("drumline.backends.sqlite")
    newest = known[-1][0]
    if version > newest:
        raise Unavailable(f"the data was written by a newer Drumline (schema {version}; this one knows {newest})")
    for number, _, script in known:
        if number > version:
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")


def _statements(script: str) -> list[str]:
    """Split a script; `executescript` would commit the transaction that the writer has begun."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements


def _prune(connection: sqlite3.Connection, before: Instant, limit: int) -> int:
    rows = connection.execute(SQL["ended_before"], {"before": before, "limit": limit}).fetchall()
    if rows:
        ids = {"ids": batch_of([task for (task,) in rows])}
        for table in BELONGINGS:
            connection.execute(f"DELETE FROM {table} WHERE task_id IN (SELECT value FROM json_each(:ids))", ids)  # noqa: S608 - our own names
        connection.execute("DELETE FROM task WHERE id IN (SELECT value FROM json_each(:ids))", ids)
    connection.execute("DELETE FROM session WHERE closed_at < ?", (before,))
    connection.execute("DELETE FROM outbox WHERE at < ?", (before,))
    return len(rows)
