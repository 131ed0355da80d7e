"""Connections of callers: each runs a statement with numbered parameters and gives its rows.

A blocking driver never suspends: what is written with `await` runs on it to its end without an event loop
(`finish` of the SQLite store). None of these begins, commits or rolls back, but that on SQLite the first statement
begins, as Python's driver does it.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from msgspec import Raw

from drumline.core.errors import Conflict, Invalid
from drumline.stores.statements import SQLITE_FUNCTIONS

T = TypeVar("T")

NO_TRANSACTION: Final = "has no open transaction: begin one first, or what is written would be committed by itself"
IDLE: Final = 0
"""psycopg's `TransactionStatus.IDLE`."""
IN_ERROR: Final = 3
"""psycopg's `TransactionStatus.INERROR`."""
BUILT_IN_UNHEX: Final = (3, 41, 0)
"""The version of SQLite from which on it has the function itself."""


class PostgresConnection(Protocol):
    """A connection to PostgreSQL, whatever its driver."""

    is_blocking: bool

    def check_transaction(self) -> None:
        """Raise `Invalid` if no transaction is open, nor would be begun by the first statement."""
        ...

    async def fetch(self, text: str, arguments: Sequence[Any]) -> list[Any]:
        """Run a statement with the parameters $1, $2 …, and return its rows as tuples."""
        ...


class Psycopg:
    """A `psycopg.Connection`."""

    is_blocking = True

    def __init__(self, connection: Any, raw_cursor: Any, tuple_row: Any) -> None:
        self._connection = connection
        self._raw_cursor = raw_cursor
        self._tuple_row = tuple_row

    def check_transaction(self) -> None:
        """Raise if every statement would be a transaction of its own."""
        _check_psycopg(self._connection)

    async def fetch(self, text: str, arguments: Sequence[Any]) -> list[Any]:
        """Run a statement, blocking."""
        with self._raw_cursor(self._connection, row_factory=self._tuple_row) as cursor:
            cursor.execute(text, [as_text(value) for value in arguments])
            return [] if cursor.description is None else list(cursor.fetchall())


class AsyncPsycopg(Psycopg):
    """A `psycopg.AsyncConnection`."""

    is_blocking = False

    async def fetch(self, text: str, arguments: Sequence[Any]) -> list[Any]:
        """Run a statement."""
        async with self._raw_cursor(self._connection, row_factory=self._tuple_row) as cursor:
            await cursor.execute(text, [as_text(value) for value in arguments])
            return [] if cursor.description is None else list(await cursor.fetchall())


class Asyncpg:
    """An `asyncpg.Connection`, or one that a pool has lent."""

    is_blocking = False

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def check_transaction(self) -> None:
        """Raise if every statement would be a transaction of its own."""
        if not self._connection.is_in_transaction():
            raise Invalid(NO_TRANSACTION, field="tx")

    async def fetch(self, text: str, arguments: Sequence[Any]) -> list[Any]:
        """Run a statement."""
        return list(await self._connection.fetch(text, *arguments))


def as_text(value: Any) -> str | None:
    """Return a value as PostgreSQL writes it: the server finds out its type, as it does for asyncpg."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | Raw):
        return f"\\x{bytes(value).hex()}"
    if isinstance(value, list | tuple):
        return "{" + ",".join("NULL" if each is None else _element(each) for each in value) + "}"
    if isinstance(value, int):  # an enumeration's is its number
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    raise TypeError(f"cannot write a {type(value).__qualname__} for PostgreSQL")


def _element(value: Any) -> str:
    text = as_text(value) or ""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _check_psycopg(connection: Any) -> None:
    status = connection.info.transaction_status
    if status == IN_ERROR:
        raise Conflict("is in a transaction that has failed: roll it back first", field="tx")
    if connection.autocommit and status == IDLE:
        raise Invalid(NO_TRANSACTION, field="tx")


class Sqlite:
    """A `sqlite3.Connection`, on which a whole act of the store runs at a time."""

    is_blocking = True

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def check_transaction(self) -> None:
        """Raise if every statement would be a transaction of its own."""
        check_sqlite(self._connection)

    async def run(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Run an act in the caller's transaction."""
        return in_transaction(self._connection, act)


class Aiosqlite:
    """An `aiosqlite.Connection`: acts run in its thread."""

    is_blocking = False

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._execute: Callable[..., Awaitable[Any]] = connection._execute  # noqa: SLF001 - the way into its thread

    def check_transaction(self) -> None:
        """Raise if every statement would be a transaction of its own."""
        if self._connection.isolation_level is None and not self._connection.in_transaction:
            raise Invalid(NO_TRANSACTION, field="tx")

    async def run(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Run an act in the caller's transaction."""
        connection = self._connection._conn  # noqa: SLF001 - the connection that its thread uses
        answer: T = await self._execute(in_transaction, connection, act)
        return answer


class ThreadedSqlite(Sqlite):
    """A `sqlite3.Connection` of our own, whose acts run in threads."""

    is_blocking = False

    async def run(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Run an act in a transaction."""
        return await asyncio.to_thread(in_transaction, self._connection, act)


SqliteDriver = Sqlite | Aiosqlite
Driver = PostgresConnection | SqliteDriver


def check_sqlite(connection: sqlite3.Connection) -> None:
    """Raise `Invalid` if no transaction is open, nor would be begun by the first statement."""
    # From Python 3.12 on: True is SQLite's own autocommit, False always has a transaction open, -1 is as it was before.
    is_autocommit = getattr(connection, "autocommit", -1) is True
    if not connection.in_transaction and (is_autocommit or connection.isolation_level is None):
        raise Invalid(NO_TRANSACTION, field="tx")


def in_transaction(connection: sqlite3.Connection, act: Callable[[sqlite3.Connection], T]) -> T:
    """Run an act on a connection as the store makes its own, and leave it as it was."""
    if not connection.in_transaction:
        # As the driver would before the first change; at once for writing, so that it need not wait half way.
        connection.execute("BEGIN IMMEDIATE")
    with _like_ours(connection):
        return act(connection)


@contextmanager
def _like_ours(connection: sqlite3.Connection) -> Iterator[None]:
    rows, texts = connection.row_factory, connection.text_factory
    connection.row_factory, connection.text_factory = None, str
    try:
        for name, (count, function) in SQLITE_FUNCTIONS.items():
            if name != "unhex" or sqlite3.sqlite_version_info < BUILT_IN_UNHEX:
                connection.create_function(name, count, function, deterministic=True)
        yield
    finally:
        connection.row_factory, connection.text_factory = rows, texts
