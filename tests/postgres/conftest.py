"""The store under test, on a database of its own."""

from collections.abc import AsyncIterator

import pytest

from drumline.backends.postgres import PostgresStore


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """The same database, as another process sees it."""
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()
