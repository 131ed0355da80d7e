"""An engine on the embedded store, with a clock that tests move."""

from collections.abc import AsyncIterator

import pytest

from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine(clock: ManualClock) -> AsyncIterator[Engine]:
    made = Engine(await SqliteStore.open(":memory:", clock=clock), NoQueue(), EngineOptions(clock=clock))
    yield made
    await made.close()


@pytest.fixture
def gateway(engine: Engine) -> LocalGateway:
    return LocalGateway(engine)
