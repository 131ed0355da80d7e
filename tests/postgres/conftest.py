"""The store under test, on a database of its own."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg
import pytest

from drumline.stores.postgres import PostgresStore
from tests.harness.fixtures import WORKER, through
from tests.harness.proxy import Proxy

LIMITED = f"drumline_limited_{WORKER}"
"""A database, and the user who owns it."""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[Proxy]:
    """A way to the database that can be cut."""
    proxy = through(postgres_url)
    await proxy.start()
    yield proxy
    await proxy.close()


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """The same database, as another process sees it."""
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
async def still_url(empty_postgres_url: str) -> str:
    """A database with the schema in it, of which PostgreSQL knows what the test lets it know, and nothing else.

    Plans depend on figures that other tests would leave behind, and that autovacuum renews whenever it comes by.
    """
    opened = await PostgresStore.open(empty_postgres_url)
    await opened.migrate()
    await opened.close()
    connection = await asyncpg.connect(empty_postgres_url)
    for (table,) in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'drumline'"):
        await connection.execute(f"ALTER TABLE drumline.{table} SET (autovacuum_enabled = off)")
    await connection.close()
    return empty_postgres_url


@pytest.fixture
async def limited_url(postgres_server_url: str) -> AsyncIterator[str]:
    """An empty database whose owner may neither create roles nor pass over policies."""
    roles = f"DROP ROLE IF EXISTS drumline_tenant_{LIMITED}; DROP ROLE IF EXISTS {LIMITED}"
    server = await asyncpg.connect(postgres_server_url)
    await server.execute(f"DROP DATABASE IF EXISTS {LIMITED} WITH (FORCE)")
    await server.execute(f"{roles}; CREATE ROLE {LIMITED} LOGIN PASSWORD 'limited'")
    await server.execute(f"CREATE DATABASE {LIMITED} OWNER {LIMITED} TEMPLATE template0")
    parts = urlsplit(postgres_server_url)
    yield parts._replace(netloc=f"{LIMITED}:limited@{parts.hostname}:{parts.port}", path=f"/{LIMITED}").geturl()
    await server.execute(f"DROP DATABASE {LIMITED} WITH (FORCE)")
    await server.execute(roles)
    await server.close()
