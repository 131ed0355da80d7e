"""Keeping the store itself in order: migrations, pruning, health."""

import sqlite3
from typing import Any, Final

from drumline.core.clock import Instant
from drumline.core.errors import Unavailable
from drumline.core.ids import TaskId, id_above
from drumline.stores.events import UNREAD_LOOKED_AT, PruneProgress, prunable_before
from drumline.stores.sql_files import migrations
from drumline.stores.sqlite.batches import batch_of
from drumline.stores.sqlite.database import run_statement
from drumline.stores.sqlite.dead_letters import drop_dead_letters
from drumline.stores.sqlite.part import SqlitePart
from drumline.stores.sqlite.statements import SQL, STATEMENTS

BELONGINGS: Final = (
    "artifact", "task_log", "idempotency", "attempt", "payload_edit", "progress", "step_record", "task_wait",
    "signal", "task_fork", "task_round", "round_record", "round_link", "job_task",
)  # fmt: skip
"""The tables whose rows belong to a task and go with it."""


class Housekeeping(SqlitePart):
    """`ports.store.Housekeeping` on SQLite."""

    _trail: PruneProgress | None = None

    async def migrate(self) -> None:
        """Bring the schema to this version; safe to run anywhere, any number of times."""
        await self._database.write(migrate)

    async def prune(self, *, ended_before: Instant, limit: int) -> int:
        """Delete up to `limit` tasks that ended before a time, with all that belongs to them; return how many."""
        trail, self._trail = self._trail, None
        if trail is None or trail.ended_before != ended_before:
            trail = PruneProgress(ended_before, await self._read_before(ended_before), "")
        before = trail.before
        whole = await self._database.read(lambda connection: _ended_jobs(connection, before, limit))
        pruned = await self._database.write(lambda connection: _prune_jobs(connection, before, whole))
        # Looking may take long, when many old tasks still wait: a reader does it, so that no writer has to.
        span = {"above": trail.above, "below": id_above(before), "before": before, "limit": max(limit - pruned, 0)}
        rows = await self._database.read(lambda connection: connection.execute(SQL["ended_before"], span).fetchall())
        if pruned + len(rows) >= limit:
            self._trail = trail._replace(above=rows[-1][0]) if rows else trail
        return pruned + await self._database.write(lambda connection: _prune(connection, before, rows))

    async def _read_before(self, ended_before: Instant) -> Instant:
        """Return the time before which tasks have ended whose events every consumer has passed on."""
        limit = {"limit": UNREAD_LOOKED_AT}
        since, unread = await self._database.read(
            lambda connection: connection.execute(SQL["unread_since"], limit).fetchone()
        )
        return prunable_before(ended_before, since, unread)

    async def tidy(self, *, dead: int) -> bool:  # noqa: ARG002 - as the port says
        """Do nothing: what is deleted here leaves its room at once."""
        return False

    async def check(self) -> dict[str, object]:
        """Return details for the health page, or raise `Unavailable`."""
        (version,) = await self._database.read(lambda connection: connection.execute("PRAGMA user_version").fetchone())
        return {"database": "SQLite", "version": sqlite3.sqlite_version, "schema": version}

    async def close(self) -> None:
        """Finish what is under way and let go of every connection."""
        await self._database.close()


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema to this version, inside a transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    known = migrations("drumline.stores.sqlite")
    newest = known[-1][0]
    if version > newest:
        raise Unavailable(f"the data was written by a newer Drumline (schema {version}; this one knows {newest})")
    applied = _applied(connection, version)
    for number, _, script in known:
        if number not in applied:  # not only above the newest: what was made side by side may arrive in any order
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute("INSERT INTO migration (number) VALUES (?)", (number,))
    if newest > version:
        connection.execute(f"PRAGMA user_version = {newest}")


def _applied(connection: sqlite3.Connection, version: int) -> set[int]:
    """Return which migrations were applied; before that was noted, they came in the order of their numbers."""
    is_new = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone() is None
    if is_new:
        connection.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY)")
        earlier = [(number,) for number, _, _ in migrations("drumline.stores.sqlite") if number <= version]
        connection.executemany("INSERT INTO migration (number) VALUES (?)", earlier)
    return {number for (number,) in connection.execute("SELECT number FROM migration")}


def _statements(script: str) -> list[str]:
    """Split a script; `executescript` would commit the transaction that the writer has begun."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements


def _prune(connection: sqlite3.Connection, before: Instant, rows: list[Any]) -> int:
    span = {"before": before, "ids": batch_of([task for (task,) in rows])}
    found = connection.execute(SQL["still_ended"], span).fetchall() if rows else []
    _delete(connection, [task for (task,) in found])
    connection.execute(SQL["prune_sessions"], {"before": before})
    run_statement(STATEMENTS["prune_signals"], {"before": before}, connection)
    return len(found)


def _delete(connection: sqlite3.Connection, tasks: list[TaskId]) -> None:
    """Delete tasks with all that belongs to them."""
    ids = {"ids": batch_of(tasks)}
    drop_dead_letters(connection, tasks)
    if tasks:
        connection.execute(SQL["delete_links"], ids)
    for table in (*BELONGINGS, "task") if tasks else ():
        column = "id" if table == "task" else "task_id"
        connection.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(:ids))", ids)  # noqa: S608 - our own names


def _ended_jobs(connection: sqlite3.Connection, before: Instant, limit: int) -> list[str]:
    """Return jobs that ended before a time, with about as many tasks as `limit`, and one at least if there is one."""
    jobs: list[str] = []
    for job, total in connection.execute(SQL["ended_jobs"], {"before": before, "limit": limit}).fetchall():
        limit -= total
        if jobs and limit < 0:
            break
        jobs.append(job)
    return jobs


def _prune_jobs(connection: sqlite3.Connection, before: Instant, jobs: list[str]) -> int:
    """Delete jobs as a whole, unless they live again by now; return how many tasks that were."""
    span = {"before": before, "ids": batch_of(jobs)}
    ended = [job for (job,) in connection.execute(SQL["still_ended_jobs"], span).fetchall()] if jobs else []
    pruned = 0
    for job in ended:
        tasks = [task for (task,) in connection.execute(SQL["tasks_of_job"], {"job": job}).fetchall()]
        connection.execute(SQL["delete_edges"], {"ids": batch_of(tasks)})
        _delete(connection, tasks)
        connection.execute(SQL["delete_deps"], {"job": job})
        connection.execute(SQL["delete_watches"], {"job": job})
        connection.execute(SQL["delete_job"], {"job": job})
        pruned += len(tasks)
    return pruned
