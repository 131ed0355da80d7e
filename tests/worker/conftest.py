"""The house that every test of the worker lives in."""

from collections.abc import AsyncIterator

import pytest

from drumline.core.clock import ManualClock
from drumline.core.task_type import PayloadMode
from drumline.core.tuning import Tuning
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.worker.house import House, Line


@pytest.fixture
async def house() -> AsyncIterator[House]:
    clock = ManualClock()
    store = await SqliteStore.open(":memory:", clock=clock)
    engine = Engine(store, NoQueue(), EngineOptions(clock=clock, poll=0.05))
    engine.tune(Tuning(payload_check=PayloadMode.OFF))  # so that what workers refuse reaches them
    yield House(engine, clock, Line(engine))
    await engine.close()
