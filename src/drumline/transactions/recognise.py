"""Which driver is behind what was given as `tx`. None is imported: what the caller has made one of is loaded."""

import sqlite3
import sys
from types import ModuleType
from typing import Any, Final

from drumline.core.errors import Invalid
from drumline.transactions.drivers import Aiosqlite, Asyncpg, AsyncPsycopg, Driver, Psycopg, Sqlite

TAKES: Final = (
    "a connection of psycopg 3, asyncpg or sqlite3, a session or connection of SQLAlchemy, or django.db.connection"
)
PSYCOPG2: Final = "is of psycopg2, which is not supported: use psycopg 3 (postgresql+psycopg:// in SQLAlchemy)"
ASYNCHRONOUS: Final = "tx is asynchronous: use the async twin of this call, as `await task.options(tx=…).asubmit(…)`"


async def recognise(given: Any, *, is_blocking: bool) -> Driver:
    """Return the driver's connection behind a connection or session, or raise `TypeError` if it is neither.

    Suspends for what is asynchronous only, which is refused if the caller blocks.
    """
    connection = await _of_sqlalchemy(given, is_blocking)
    if connection is None:
        connection = _of_django(given)
    driver = _plain(given if connection is None else connection)
    if driver is None:
        raise TypeError(f"tx must be {TAKES}, not {type(given).__module__}.{type(given).__qualname__}")
    if is_blocking and not driver.is_blocking:
        raise TypeError(ASYNCHRONOUS)
    driver.check_transaction()
    return driver


def _plain(connection: Any) -> Driver | None:
    if isinstance(connection, sqlite3.Connection):
        return Sqlite(connection)
    if (psycopg := _loaded("psycopg")) is not None:
        if isinstance(connection, psycopg.Connection):
            return Psycopg(connection, psycopg.RawCursor, psycopg.rows.tuple_row)
        if isinstance(connection, psycopg.AsyncConnection):
            return AsyncPsycopg(connection, psycopg.AsyncRawCursor, psycopg.rows.tuple_row)
    if (asyncpg := _loaded("asyncpg")) is not None and isinstance(
        connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy
    ):
        return Asyncpg(connection)
    if (aiosqlite := _loaded("aiosqlite")) is not None and isinstance(connection, aiosqlite.Connection):
        return Aiosqlite(connection)
    if type(connection).__module__.partition(".")[0] == "psycopg2":
        raise Invalid(PSYCOPG2, field="tx")
    return None


async def _of_sqlalchemy(given: Any, is_blocking: bool) -> Any:
    """Return the driver's connection of SQLAlchemy's session or connection, in whose transaction it is then."""
    if _loaded("sqlalchemy") is None:
        return None
    if (asynchronous := _loaded("sqlalchemy.ext.asyncio")) is not None:
        sessions = asynchronous.AsyncSession | asynchronous.async_scoped_session
        if is_blocking and isinstance(given, sessions | asynchronous.AsyncConnection):
            raise TypeError(ASYNCHRONOUS)
        if isinstance(given, sessions):
            given = await given.connection()
        if isinstance(given, asynchronous.AsyncConnection):
            # The first statement begins what the driver calls a transaction; before it asyncpg has none.
            await given.exec_driver_sql("SELECT 1")
            return (await given.get_raw_connection()).driver_connection
    if (orm := _loaded("sqlalchemy.orm")) is not None and isinstance(given, orm.Session | orm.scoped_session):
        given = given.connection()
    if isinstance(given, sys.modules["sqlalchemy"].engine.Connection):
        given.exec_driver_sql("SELECT 1")
        return given.connection.driver_connection
    return None


def _of_django(given: Any) -> Any:
    """Return the driver's connection of Django's, inside `transaction.atomic`."""
    if _loaded("django.db") is None:
        return None
    from django.db.backends.base.base import BaseDatabaseWrapper  # noqa: PLC0415
    from django.utils.connection import ConnectionProxy  # noqa: PLC0415

    if not isinstance(given, BaseDatabaseWrapper | ConnectionProxy):
        return None
    if not given.in_atomic_block:
        raise Invalid("has no open transaction: use it inside transaction.atomic()", field="tx")
    given.ensure_connection()
    return given.connection


def _loaded(name: str) -> ModuleType | None:
    return sys.modules.get(name)
