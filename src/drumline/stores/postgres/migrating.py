"""Bringing the schema up to date: forward only, one migrator at a time."""

import re
from collections.abc import Sequence
from typing import Final

import structlog

from drumline.core.errors import Conflict
from drumline.stores.driver import Line
from drumline.stores.postgres.connection import Rows
from drumline.stores.postgres.database import Database, Transaction
from drumline.stores.postgres.wall import ADVICE
from drumline.stores.sql_files import Migration, migrations, named

log: structlog.stdlib.BoundLogger = structlog.get_logger()

MIGRATING: Final = 0x6472_756D_6D69_6772
"""The advisory lock of the one migration that is under way."""

MAJOR: Final = 1
"""Programs of one major schema work side by side on any of its migrations; another major is not understood."""

_MAJOR = re.compile(r"\(major (\d+)\)")


async def migrate(database: Database) -> None:
    """Apply the migrations that are missing, all in one transaction."""
    await database.transact(Line.BROAD, _migrate)


async def _migrate(transaction: Transaction) -> None:
    # Wait for the lock in a statement of its own: the next one then sees what the other migrator did.
    await transaction.fetch("lock_schema", key=MIGRATING)
    await transaction.fetch("create_schema")
    await transaction.fetch("create_migration")
    rows = await transaction.fetch("schema_version")
    _refuse_newer(rows)
    applied = {number for number, _ in rows}
    for each, name, script in migrations("drumline.stores.postgres"):
        if each not in applied:  # not only above the newest: what was made side by side may arrive in any order
            await transaction.run(script)
            await transaction.fetch("note_migration", number=each, major=major_of(script), name=name)
    await _wall_in(transaction)


async def missing_migrations(database: Database) -> list[Migration]:
    """Return the migrations that `migrate` would apply."""
    ((has_schema,),) = await database.fetch(Line.REQUEST, "has_schema", repeat=True)
    rows = await database.fetch(Line.REQUEST, "schema_version", repeat=True) if has_schema else []
    applied = {number for number, _ in rows}
    return [each for each in migrations("drumline.stores.postgres") if each.number not in applied]


def script_of(missing: Sequence[Migration]) -> str:
    """Return what `migrate` would do as a script, for those who change schemas by hand. It may be run once."""
    texts = named("drumline.stores.postgres")
    parts = ["BEGIN", f"SELECT pg_advisory_xact_lock({MIGRATING})", texts["create_schema"], texts["create_migration"]]
    for each in missing:
        noted = f"({each.number}, {major_of(each.script)}, '{each.name}')"
        parts += [
            f"-- {each.number:04} {each.name}\n{each.script.strip().removesuffix(';')}",
            f"INSERT INTO drumline.migration (number, major, name) VALUES {noted}",  # noqa: S608 - from our own files
        ]
    return ";\n\n".join([*parts, texts["build_wall"], "COMMIT"]) + ";\n"


async def check_major(database: Database) -> None:
    """Raise `Conflict` if the schema is of a major that this version does not know; one that is missing may come."""
    ((has_schema,),) = await database.fetch(Line.REQUEST, "has_schema", repeat=True)
    if has_schema:
        _refuse_newer(await database.fetch(Line.REQUEST, "schema_version", repeat=True))


def _refuse_newer(versions: Rows) -> None:
    major = versions[0]["major"] if versions else MAJOR
    if major > MAJOR:
        told = f"the database was migrated by a newer Drumline (major {major}; this one knows {MAJOR})"
        raise Conflict(f"{told}\nUpgrade this one, or give it a database of its own.")


async def _wall_in(transaction: Transaction) -> None:
    """Create the role and policies of tenants where they are missing; if that is not permitted, log it."""
    ((_, missing),) = await transaction.fetch("wall")
    if missing is None:
        return
    await transaction.fetch("build_wall")
    ((role, missing),) = await transaction.fetch("wall")
    if missing is None:
        log.info("wall.built", role=role)
    else:
        log.warning("wall.missing", reason=missing, advice=ADVICE)


def major_of(script: str) -> int:
    """Return the major schema that a migration says it leads to, in its first line."""
    match = _MAJOR.search(script.partition("\n")[0])
    if match is None:
        raise ValueError("the first line of a migration must name its major schema")
    return int(match[1])
