"""Puts an engine together from what the settings name: the only place that knows every backend.

Backends are imported when they are asked for, so that nobody needs the driver of a database they do not use.
"""

from pathlib import Path

from drumline.backends.no_queue import NoQueue
from drumline.core.errors import DrumlineError, Invalid
from drumline.engine.engine import Engine
from drumline.ports.queue import Queue
from drumline.ports.store import Store
from drumline.settings.fields import SQLITE_FILE, Settings

SERVER_FLIGHTS = 4
"""Batches under way at once on a database server; SQLite has one writer."""


async def open_engine(settings: Settings) -> Engine:
    """Return an engine on the backends that the settings name, with its schema in place."""
    store = await open_store(settings)
    try:
        queue = await _open_queue(settings)
    except BaseException:
        await store.close()
        raise
    return Engine(store, queue, limits=settings.limits, parallel=1 if settings.sqlite_path else SERVER_FLIGHTS)


async def embedded_engine(data: Path) -> Engine:
    """Return an engine on the SQLite file of a data folder, made if missing."""
    return await open_engine(Settings(data=data))


async def open_store(settings: Settings) -> Store:
    """Return the store that the settings name."""
    path = settings.sqlite_path
    if path is not None:
        from drumline.backends.sqlite import SqliteStore  # noqa: PLC0415

        return await SqliteStore.open(path)
    try:
        from drumline.backends.postgres import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise _missing("postgres", "PostgreSQL as the store", error) from error
    return await PostgresStore.open(str(settings.store_url))


async def _open_queue(settings: Settings) -> Queue:
    if settings.queue_url is None:
        return NoQueue()
    if settings.sqlite_path is not None:
        raise Invalid("a queue in Redis needs PostgreSQL as the store; set store_url too", field="queue_url")
    try:
        from drumline.backends.redis import RedisQueue  # noqa: PLC0415
    except ImportError as error:
        raise _missing("redis", "Redis as the queue", error) from error
    return await RedisQueue.open(str(settings.queue_url))


def _missing(extra: str, what: str, error: ImportError) -> DrumlineError:
    if error.name and error.name.startswith("drumline."):
        raise error
    return Invalid(f"{what} needs the package {error.name}: pip install 'drumline[{extra}]'", field=f"{extra}_extra")


__all__ = ["SQLITE_FILE", "embedded_engine", "open_engine", "open_store"]
