"""What one program does in one transaction, by each driver: `python -m tests.transactions.cases DRIVER URL ENDING`.

It writes an order, submits a task for it, prints the task's id, and ends as it is told: that is one cell of the table
of drivers and endings. The program is its own so that it can be killed at the place in question.
"""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import StrEnum
from typing import Any, Final, NamedTuple

from drumline import Drumline, TaskHandle

app = Drumline("shop", url="http://127.0.0.1:1")
"""No server is there: none is asked."""


@app.task
def charge(order: int) -> int:
    return order


class Ending(StrEnum):
    """How the transaction ends."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    """The order and the task are written after a savepoint that is rolled back; another order before it is kept."""
    CRASH_BEFORE = "crash-before"
    CRASH_AFTER = "crash-after"


class RolledBack(Exception):
    """Ends a transaction, or goes back to a savepoint."""


class Blocking(NamedTuple):
    """A transaction of a blocking driver."""

    tx: Any
    execute: Callable[[str], Any]
    savepoint: Callable[[], Any]


Opening = Callable[[str], Any]

ORDER: Final = "INSERT INTO orders (id) VALUES ({})"
BEFORE: Final = 1
"""The order that is written before the savepoint."""
INSIDE: Final = 7


def die() -> None:
    """End this process as a power cut does."""
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def run_blocking(opening: Opening, url: str, ending: Ending) -> str:
    """Do it, and return the task's id."""
    ids: list[str] = []

    def work(transaction: Blocking) -> None:
        transaction.execute(ORDER.format(INSIDE))
        ids.append(_told(charge.submit(INSIDE, tx=transaction.tx)))

    with suppress(RolledBack), opening(url) as transaction:
        if ending is Ending.SAVEPOINT:
            transaction.execute(ORDER.format(BEFORE))
            with suppress(RolledBack), transaction.savepoint():
                work(transaction)
                raise RolledBack
        else:
            work(transaction)
        if ending is Ending.CRASH_BEFORE:
            die()
        if ending is Ending.ROLLBACK:
            raise RolledBack
    if ending is Ending.CRASH_AFTER:
        die()
    return ids[0]


async def run_async(opening: Opening, url: str, ending: Ending) -> str:
    """Do it, and return the task's id."""
    ids: list[str] = []

    async def work(transaction: Blocking) -> None:
        await transaction.execute(ORDER.format(INSIDE))
        ids.append(_told(await charge.asubmit(INSIDE, tx=transaction.tx)))

    with suppress(RolledBack):
        async with opening(url) as transaction:
            if ending is Ending.SAVEPOINT:
                await transaction.execute(ORDER.format(BEFORE))
                with suppress(RolledBack):
                    async with transaction.savepoint():
                        await work(transaction)
                        raise RolledBack
            else:
                await work(transaction)
            if ending is Ending.CRASH_BEFORE:
                die()
            if ending is Ending.ROLLBACK:
                raise RolledBack
    if ending is Ending.CRASH_AFTER:
        die()
    return ids[0]


def _told(handle: TaskHandle[int]) -> str:
    print(handle.id, flush=True)  # noqa: T201 - for the test that has started this
    return handle.id


@contextmanager
def psycopg_(url: str) -> Iterator[Blocking]:
    import psycopg  # noqa: PLC0415 - each program loads its driver only

    with psycopg.connect(url) as connection, connection.transaction():
        yield Blocking(connection, connection.execute, connection.transaction)


@contextmanager
def sqlalchemy_session(url: str) -> Iterator[Blocking]:
    from sqlalchemy import create_engine, text  # noqa: PLC0415
    from sqlalchemy.orm import Session  # noqa: PLC0415

    engine = create_engine(_with_driver(url, "psycopg"))
    try:
        with Session(engine) as session, session.begin():
            yield Blocking(session, lambda sql: session.execute(text(sql)), session.begin_nested)
    finally:
        engine.dispose()


@contextmanager
def sqlalchemy_connection(url: str) -> Iterator[Blocking]:
    from sqlalchemy import create_engine  # noqa: PLC0415

    engine = create_engine(_with_driver(url, "psycopg"))
    try:
        with engine.begin() as connection:
            yield Blocking(connection, connection.exec_driver_sql, connection.begin_nested)
    finally:
        engine.dispose()


@contextmanager
def django_(url: str) -> Iterator[Blocking]:
    _configure_django(url)
    from django.db import connection, transaction  # noqa: PLC0415

    def execute(sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql)

    with transaction.atomic():
        yield Blocking(connection, execute, transaction.atomic)


@contextmanager
def sqlite_(url: str) -> Iterator[Blocking]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))

    @contextmanager
    def savepoint() -> Iterator[None]:
        connection.execute("SAVEPOINT here")
        try:
            yield
        except RolledBack:
            connection.execute("ROLLBACK TO here")
            raise
        finally:
            connection.execute("RELEASE here")

    try:
        with connection:
            yield Blocking(connection, connection.execute, savepoint)
    finally:
        connection.close()


@asynccontextmanager
async def psycopg_async(url: str) -> AsyncIterator[Blocking]:
    import psycopg  # noqa: PLC0415

    async with await psycopg.AsyncConnection.connect(url) as connection, connection.transaction():
        yield Blocking(connection, connection.execute, connection.transaction)


@asynccontextmanager
async def asyncpg_(url: str) -> AsyncIterator[Blocking]:
    import asyncpg  # noqa: PLC0415

    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            yield Blocking(connection, connection.execute, connection.transaction)
    finally:
        await connection.close()


@asynccontextmanager
async def asyncpg_pool(url: str) -> AsyncIterator[Blocking]:
    import asyncpg  # noqa: PLC0415

    async with (
        asyncpg.create_pool(url, min_size=1, max_size=1) as pool,
        pool.acquire() as connection,
        connection.transaction(),
    ):
        yield Blocking(connection, connection.execute, connection.transaction)


def _sqlalchemy_async_session(driver: str) -> Opening:
    @asynccontextmanager
    async def opening(url: str) -> AsyncIterator[Blocking]:
        from sqlalchemy import text  # noqa: PLC0415
        from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine  # noqa: PLC0415

        engine = create_async_engine(_with_driver(url, driver))
        try:
            async with AsyncSession(engine) as session, session.begin():
                yield Blocking(session, lambda sql: session.execute(text(sql)), session.begin_nested)
        finally:
            await engine.dispose()

    return opening


def _sqlalchemy_async_connection(driver: str) -> Opening:
    @asynccontextmanager
    async def opening(url: str) -> AsyncIterator[Blocking]:
        from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415

        engine = create_async_engine(_with_driver(url, driver))
        try:
            async with engine.begin() as connection:
                yield Blocking(connection, connection.exec_driver_sql, connection.begin_nested)
        finally:
            await engine.dispose()

    return opening


def _with_driver(url: str, driver: str) -> str:
    kind, rest = url.split("://", 1)
    return url if kind == "sqlite" and driver == "psycopg" else f"{kind}+{driver}://{rest}"


def _configure_django(url: str) -> None:
    from urllib.parse import urlsplit  # noqa: PLC0415

    from django.conf import settings  # noqa: PLC0415

    parts = urlsplit(url)
    database: dict[str, object] = {"ENGINE": "django.db.backends.sqlite3", "NAME": url.removeprefix("sqlite:///")}
    if parts.scheme != "sqlite":
        database = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts.path[1:],
            "USER": parts.username or "",
            "PASSWORD": parts.password or "",
            "HOST": parts.hostname or "",
            "PORT": parts.port or "",
        }
    settings.configure(DATABASES={"default": database})


BLOCKING: Final[dict[str, Opening]] = {
    "psycopg": psycopg_,
    "sqlalchemy-session": sqlalchemy_session,
    "sqlalchemy-connection": sqlalchemy_connection,
    "django": django_,
    "sqlite3": sqlite_,
}
ASYNC: Final[dict[str, Opening]] = {
    "psycopg-async": psycopg_async,
    "asyncpg": asyncpg_,
    "asyncpg-pool": asyncpg_pool,
    "sqlalchemy-async-session": _sqlalchemy_async_session("asyncpg"),
    "sqlalchemy-async-connection": _sqlalchemy_async_connection("asyncpg"),
    "sqlalchemy-async-psycopg": _sqlalchemy_async_session("psycopg"),
    "sqlalchemy-aiosqlite": _sqlalchemy_async_session("aiosqlite"),
}
ON_POSTGRES: Final = (
    "psycopg", "psycopg-async", "asyncpg", "asyncpg-pool", "sqlalchemy-session", "sqlalchemy-connection",
    "sqlalchemy-async-session", "sqlalchemy-async-connection", "sqlalchemy-async-psycopg", "django",
)  # fmt: skip
ON_SQLITE: Final = ("sqlite3", "sqlalchemy-session", "sqlalchemy-connection", "sqlalchemy-aiosqlite", "django")


def run_case(driver: str, url: str, ending: Ending) -> str:
    """Do what a cell of the table says, and return the task's id."""
    if driver in BLOCKING:
        return run_blocking(BLOCKING[driver], url, ending)
    return asyncio.run(run_async(ASYNC[driver], url, ending))


if __name__ == "__main__":
    run_case(sys.argv[1], sys.argv[2], Ending(sys.argv[3]))
