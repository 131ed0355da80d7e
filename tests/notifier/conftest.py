"""A real store with time that moves by hand, and a whole notifier on it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumline.backends.sqlite import SqliteStore
from drumline.core.clock import ManualClock
from tests.notifier.office import Office
from tests.notifier.postbox import Postbox, open_postbox
from tests.notifier.receiver import Receiver, receiving


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(clock: ManualClock, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "drumline.db", clock=clock)
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
async def office(store: SqliteStore, clock: ManualClock, postbox: Postbox) -> AsyncIterator[Office]:
    office = Office(store, clock, smtp=postbox.settings)
    yield office
    await office.close()
