"""A real engine on SQLite, with time that moves by hand."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.harness.sqlite import migrated


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine(clock: ManualClock, tmp_path: Path) -> AsyncIterator[Engine]:
    store = await SqliteStore.open(migrated(tmp_path / "drumline.db"), clock=clock)
    engine = Engine(store, NoQueue(), EngineOptions(clock=clock))
    yield engine
    await engine.close()
