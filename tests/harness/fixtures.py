"""The fixtures that hand real components to tests."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import redis.asyncio

from drumline.stores.postgres import PostgresStore
from tests.harness import kafka as kafka_harness
from tests.harness import pgbouncer as pgbouncer_harness
from tests.harness import postgres as postgres_harness
from tests.harness import redis as redis_harness
from tests.harness.kafka import KafkaServer
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import PostgresServer
from tests.harness.proxy import Proxy
from tests.harness.redis import RedisServer

T = TypeVar("T")

CUT_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE
    datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND state IS DISTINCT FROM 'idle' -- those hold no locks, and a pooler would hand out the dead one first
"""
NUMBER_ANEW = "UPDATE drumline.event_log SET position = 0"
"""Else an empty log would not begin at 0, and what a test sees would depend on those before it."""
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'drumline' AND tablename NOT IN ('migration', 'event_log')"
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
"""Which of the processes that share the tests this is: each has services, or names on a given one, of its own."""
_numbers = count(1)

SERVICES = frozenset({"postgres_server_url", "durable_postgres", "redis_server", "redis_url", "kafka_server"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a real component, so that the fast run can leave it out."""
    for item in items:
        if SERVICES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.services)


def pytest_collection_finish() -> None:
    """Spare the garbage collector thousands of tests that live until the end: it would go through all of them often."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make what a test printed fit to be sent to the process that reports: halves of surrogate pairs are not."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """The address of a server whose databases a test may create and drop; nothing on it is durable."""
    if reason := postgres_harness.missing():
        pytest.skip(reason)
    if postgres_harness.ADDRESS:
        yield postgres_harness.ADDRESS
        return
    server = PostgresServer(durable=False)
    yield server.url()
    server.remove()


@pytest.fixture(scope="session")
def migrated_postgres_url(postgres_server_url: str) -> str:
    """A database with the schema in it, which the tests of this run use one after the other."""
    return _apart(_make_migrated(postgres_server_url))


@pytest.fixture(scope="session")
def migrated_shard_urls(postgres_server_url: str, migrated_postgres_url: str) -> tuple[str, ...]:
    """Three databases with the schema in them, which the tests of this run use one after the other."""
    others = [_apart(_make_migrated(postgres_server_url, suffix)) for suffix in ("_b", "_c")]
    return (migrated_postgres_url, *others)


@pytest.fixture
async def postgres_url(migrated_postgres_url: str) -> str:
    """A database with the schema in it and nothing else."""
    await _empty(migrated_postgres_url)
    return migrated_postgres_url


@pytest.fixture
async def shard_urls(migrated_shard_urls: tuple[str, ...]) -> tuple[str, ...]:
    """Three databases with the schema in them and nothing else: a directory, and two more."""
    for url in migrated_shard_urls:
        await _empty(url)
    return migrated_shard_urls


async def _empty(url: str) -> None:
    """Delete all rows of a database, which is ten times faster than making one."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(CUT_OTHERS)
        rows = await connection.fetch(TABLES)
        # The audit log lets nobody delete rows.
        emptied = [
            f"TRUNCATE drumline.{table}" if table == "audit" else f"DELETE FROM drumline.{table}" for (table,) in rows
        ]
        await connection.execute(";".join(emptied))
        await connection.execute(NUMBER_ANEW)
    finally:
        await connection.close()


@pytest.fixture
async def empty_postgres_url(postgres_server_url: str) -> AsyncIterator[str]:
    """A database of the test's own, without a schema."""
    name = f"drumline_test_{WORKER}_{next(_numbers)}"
    await _execute(postgres_server_url, f"CREATE DATABASE {name} TEMPLATE template0")
    yield on_database(postgres_server_url, name)
    await _execute(postgres_server_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def durable_postgres() -> Iterator[PostgresServer]:
    """A server of the test's own that keeps its promises, to be crashed and restarted."""
    if reason := postgres_harness.missing():
        pytest.skip(reason)
    if postgres_harness.ADDRESS:
        pytest.skip("the server at DRUMLINE_TEST_POSTGRES_URL is not ours to crash")
    server = PostgresServer(durable=True)
    yield server
    server.remove()


@pytest.fixture(scope="session")
def pgbouncer(postgres_server_url: str) -> Iterator[PgBouncer]:
    """A pooler by transaction in front of the server of `postgres_url`."""
    if reason := pgbouncer_harness.missing():
        pytest.skip(reason)
    pooler = PgBouncer(postgres_server_url)
    yield pooler
    pooler.remove()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis that the tests of this run share; see `redis_url`."""
    if reason := redis_harness.missing():
        pytest.skip(reason)
    server = RedisServer()
    yield server
    server.remove()


@pytest.fixture
async def redis_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """An empty Redis database of the test's own."""
    if redis_harness.ADDRESS:
        base = redis_harness.ADDRESS
    else:
        server: RedisServer = request.getfixturevalue("redis_server")
        base = server.url()
    url = on_database(base, str(next(_numbers) % (redis_harness.DATABASES - 1) + 1))
    client = redis.asyncio.Redis.from_url(url)
    await client.flushdb()
    yield url
    await client.flushdb()
    await client.aclose()


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[KafkaServer]:
    """A Kafka that the tests of this run share, each with topics of its own; a test that kills it starts it again."""
    if reason := kafka_harness.missing():
        pytest.skip(reason)
    server = KafkaServer()
    yield server
    server.remove()


def on_database(url: str, name: str) -> str:
    """Return an address with another database in it."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def through(url: str) -> Proxy:
    """Return a proxy, not yet started, to the server of an address."""
    parts = urlsplit(url)
    return Proxy(parts.hostname or "127.0.0.1", parts.port or 5432)


async def _make_migrated(server_url: str, suffix: str = "") -> str:
    name = f"drumline_test_{WORKER}{suffix}"
    await _execute(server_url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    await _execute(server_url, f"CREATE DATABASE {name} TEMPLATE template0")
    store = await PostgresStore.open(on_database(server_url, name))
    await store.migrate()
    await store.close()
    return on_database(server_url, name)


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _apart(work: Awaitable[T]) -> T:
    """Run something asynchronous to its end in a loop of its own, whatever loop the tests are using."""

    async def run() -> T:
        return await work

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result()
