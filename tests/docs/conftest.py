"""What the pages of the documentation are run with."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.harness.fixtures import WORKER, on_database

SHARDS = ("pg2", "pg3", "pg4")


@pytest.fixture
async def page_shard_urls(postgres_server_url: str) -> AsyncIterator[dict[str, str]]:
    """Empty databases that become shards, by their names."""
    names = {shard: f"drumline_pages_{WORKER}_{shard}" for shard in SHARDS}
    connection = await asyncpg.connect(postgres_server_url)
    for name in names.values():
        await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield {shard: on_database(postgres_server_url, name) for shard, name in names.items()}
    for name in names.values():
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


@pytest.fixture
async def other_postgres_url(postgres_server_url: str) -> AsyncIterator[str]:
    """A second empty database, for what is restored."""
    name = f"drumline_pages_{WORKER}"
    connection = await asyncpg.connect(postgres_server_url)
    await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield on_database(postgres_server_url, name)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()
