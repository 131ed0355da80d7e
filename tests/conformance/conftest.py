"""The stores that every promise of the ports is held against."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from drumline.core.clock import Clock, ManualClock
from drumline.ports.store import Store
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.harness.sqlite import migrated

MakeStore = Callable[[Clock], Awaitable[Store]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["sqlite-memory", "sqlite-file", pytest.param("postgres", marks=pytest.mark.services)])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Open the store that the current parameter names; calling it twice gives two stores on the same data."""
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None

    async def make(clock: Clock) -> Store:
        if url is not None:
            return await PostgresStore.open(url, clock=clock)
        return await SqliteStore.open(
            ":memory:" if request.param == "sqlite-memory" else migrated(tmp_path / "d.db"), clock=clock
        )

    return make


@pytest.fixture
async def store(make_store: MakeStore, clock: ManualClock) -> AsyncIterator[Store]:
    opened = await make_store(clock)
    yield opened
    await opened.close()
