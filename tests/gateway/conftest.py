"""The engine as workers see it: in their own process and behind HTTP, on every store."""

from collections.abc import AsyncIterator

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import Gateway
from drumline.ports.store import Store
from drumline.remote import RemoteGateway
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.gateway.wire import Wire

KEY = "sk_test"


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str | None:
    """The database to use; none for SQLite in memory."""
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return url


@pytest.fixture
async def engine(store_url: str | None) -> AsyncIterator[Engine]:
    store: Store = await (PostgresStore.open(store_url) if store_url else SqliteStore.open(":memory:"))
    made = Engine(store, NoQueue())
    yield made
    await made.close()


@pytest.fixture
async def wire(engine: Engine) -> Wire:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="0", disk="/"))
    return Wire(httpx.ASGITransport(app))


@pytest.fixture(params=["local", "remote"])
async def gateway(request: pytest.FixtureRequest, engine: Engine, wire: Wire) -> AsyncIterator[Gateway]:
    if request.param == "local":
        yield LocalGateway(engine)
    else:
        async with RemoteGateway("http://drumline", api_key=KEY, transport=wire) as remote:
            yield remote
