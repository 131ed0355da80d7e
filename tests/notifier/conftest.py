"""A real store with time that moves by hand, and a whole notifier on it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from drumline.core.clock import ManualClock
from drumline.ports.store import Store
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.harness.sqlite import migrated
from tests.notifier.office import Office
from tests.notifier.postbox import Postbox, open_postbox
from tests.notifier.receiver import Receiver, receiving

MakeStore = Callable[[], Awaitable[Store]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def make_store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> MakeStore:
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None

    async def make() -> Store:
        if url is not None:
            return await PostgresStore.open(url, clock=clock)
        return await SqliteStore.open(migrated(tmp_path / "drumline.db"), clock=clock)

    return make


@pytest.fixture
async def store(make_store: MakeStore) -> AsyncIterator[Store]:
    store = await make_store()
    yield store
    await store.close()


@pytest.fixture
async def postbox() -> AsyncIterator[Postbox]:
    async with open_postbox() as postbox:
        yield postbox


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
async def office(store: Store, clock: ManualClock, postbox: Postbox) -> AsyncIterator[Office]:
    office = Office(store, clock, smtp=postbox.settings)
    yield office
    await office.close()
