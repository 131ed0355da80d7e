"""The engine as workers see it: in their own process and behind HTTP, on every store."""

from collections.abc import AsyncIterator

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.ports.gateway import Gateway
from drumline.ports.store import Store
from drumline.remote import RemoteGateway
from drumline.shards.gateway import ShardedGateway
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.gateway.wire import Wire
from tests.shards.world import front, opened

KEY = "sk_test"


@pytest.fixture(params=["sqlite", "postgres", "shards"])
def store_urls(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The databases to use; none for SQLite in memory."""
    if request.param == "sqlite":
        return ()
    if request.param == "postgres":
        return (request.getfixturevalue("postgres_url"),)
    urls: tuple[str, ...] = request.getfixturevalue("shard_urls")
    return urls


@pytest.fixture
async def engine(store_urls: tuple[str, ...]) -> AsyncIterator[Engine]:
    if len(store_urls) > 1:
        async with opened(store_urls) as world:
            await world.add_all(store_urls)
            yield front(world)
        return
    store: Store = await (PostgresStore.open(store_urls[0]) if store_urls else SqliteStore.open(":memory:"))
    made = Engine(store, NoQueue())
    yield made
    await made.close()


def engines_of(engine: Engine) -> list[Engine]:
    """Return the engines that store and hand out tasks."""
    gateway = engine.gateway
    return [shard.engine for shard in gateway._shards] if isinstance(gateway, ShardedGateway) else [engine]


@pytest.fixture
async def wire(engine: Engine) -> Wire:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="0", disk="/"))
    return Wire(httpx.ASGITransport(app))


@pytest.fixture(params=["local", "remote"])
async def gateway(request: pytest.FixtureRequest, engine: Engine, wire: Wire) -> AsyncIterator[Gateway]:
    if request.param == "local":
        yield gateway_of(engine)
    else:
        async with RemoteGateway("http://drumline", api_key=KEY, transport=wire) as remote:
            yield remote
