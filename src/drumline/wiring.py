"""Puts an engine together from what the settings name: the only place that knows every backend.

Backends are imported when they are asked for, so that nobody needs the driver of a database they do not use.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from drumline.backends.no_queue import NoQueue
from drumline.core.errors import Invalid
from drumline.engine.engine import Engine
from drumline.ports.gateway import Gateway
from drumline.ports.queue import Queue
from drumline.ports.store import Store
from drumline.sdk.locate import Place
from drumline.settings.fields import Secret, Settings

SERVER_FLIGHTS = 2
"""Batches under way at once on a database server, which has two connections for each kind; SQLite has one writer."""


async def open_engine(settings: Settings) -> Engine:
    """Return an engine on the backends that the settings name."""
    store = await open_store(settings)
    try:
        queue = await _open_queue(settings)
    except BaseException:
        await store.close()
        raise
    return Engine(store, queue, limits=settings.limits, parallel=1 if settings.sqlite_path else SERVER_FLIGHTS)


async def embedded_engine(place: Place) -> Engine:
    """Return an engine for a program of its own: on the backends that it names, or on its data folder."""
    if place.direct is None:
        return await open_engine(Settings(data=place.data))
    queue = None if place.direct.queue is None else Secret(place.direct.queue)
    return await open_engine(Settings(data=place.data, store_url=Secret(place.direct.store), queue_url=queue))


async def open_store(settings: Settings) -> Store:
    """Return the store that the settings name; a SQLite file has its schema, a server is left as it is."""
    path = settings.sqlite_path
    if path is not None:
        from drumline.backends.sqlite import SqliteStore  # noqa: PLC0415

        return await SqliteStore.open(path)
    with _explained("postgres", "PostgreSQL as the store"):
        from drumline.backends.postgres import PostgresStore  # noqa: PLC0415
    return await PostgresStore.open(_postgres_url(settings))


@asynccontextmanager
async def remote_gateway(settings: Settings) -> AsyncIterator[Gateway]:
    """Give a worker the way to an engine behind HTTP."""
    with _explained("worker", "a remote worker"):
        from drumline.backends.remote import RemoteGateway  # noqa: PLC0415
    async with RemoteGateway(str(settings.url), api_key=settings.api_key) as gateway:
        yield gateway


async def _open_queue(settings: Settings) -> Queue:
    if settings.sqlite_path is not None:
        if settings.queue_url is not None:
            raise Invalid("a queue in Redis needs PostgreSQL as the store; set store_url too", field="queue_url")
        return NoQueue()
    if settings.queue_url is None:
        from drumline.backends.postgres import NotifyQueue  # noqa: PLC0415
        from drumline.backends.postgres.store import DEFAULT_BUDGET  # noqa: PLC0415

        return NotifyQueue(_postgres_url(settings), budget=DEFAULT_BUDGET)
    with _explained("redis", "Redis as the queue"):
        from drumline.backends.redis import RedisQueue  # noqa: PLC0415
    return await RedisQueue.open(settings.queue_url)


def _postgres_url(settings: Settings) -> str:
    return str(settings.store_url).replace("postgres://", "postgresql://", 1)


@contextmanager
def _explained(extra: str, what: str) -> Iterator[None]:
    """Turn a missing driver into what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("drumline"):
            raise
        raise Invalid(f"{what} needs {error.name}: pip install 'drumline[{extra}]'", field=extra) from error
