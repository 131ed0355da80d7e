"""Puts an engine together from what the settings name: the only place that knows every backend.

Backends are imported when they are asked for, so that only drivers of databases in use are needed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import structlog
from msgspec.structs import replace

from drumline.core.duration import millis
from drumline.core.errors import Conflict, Invalid, Unavailable
from drumline.core.metrics import Metrics
from drumline.core.redaction import Redaction
from drumline.core.shard_map import DIRECTORY
from drumline.engine.blobs import Blobs
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions, SignInOptions
from drumline.ports.bus import Bus, Channel
from drumline.ports.queue import Queue, SweptQueue
from drumline.ports.read_model import ReadModel
from drumline.ports.shards import ShardIdentity, ShardRow
from drumline.ports.store import Store
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.sdk.locate import ServerLocation
from drumline.settings.convert import policy_of
from drumline.settings.fields import Secret, Settings
from drumline.settings.secret_key import box_of
from drumline.settings.sources import check_runtime
from drumline.shards.front import FrontEngine
from drumline.shards.read_model import RoutedReadModel
from drumline.shards.service import ShardReach, ShardService, open_urls
from drumline.shards.shard_set import Shard, ShardSet, lone
from drumline.shards.view import shard_view
from drumline.stores.no_queue import NoQueue

if TYPE_CHECKING:
    from drumline.ports.limiter import Limiter
    from drumline.remote import RemoteGateway

SERVER_FLIGHTS = 2
"""Batches under way at once on a database server, which has two connections for each kind; SQLite has one writer."""
DEFAULT_SIGN_IN = SignInOptions()
ENVELOPE = 10_000
"""Bytes that Kafka adds to a message at most: its key, headers and lengths."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Opened(NamedTuple):
    """The engine of an installation, and the shards behind it."""

    engine: Engine
    shards: ShardSet


async def wire(settings: Settings, *, tracer: Tracer = NO_TRACER, sign_in: SignInOptions = DEFAULT_SIGN_IN) -> Opened:
    """Return an engine on the backends that the settings name; a server's schema is left as it is."""
    policy = policy_of(settings.access)
    options = EngineOptions(
        limits=settings.limits,
        tracer=tracer,
        box=await asyncio.to_thread(box_of, settings),
        redaction=Redaction(settings.redact.fields),
        policy=policy,
        sign_in=sign_in,
        check_setting=check_runtime,
        source=settings.events.source,
    )
    path = settings.sqlite_path
    if path is None:
        return await _on_postgres(settings, options)
    if settings.queue_url is not None:
        raise Invalid("a queue in Redis needs PostgreSQL as the store; set store_url too", field="queue_url")
    from drumline.stores.sqlite import SqliteStore  # noqa: PLC0415

    store = await SqliteStore.open(path, metrics=options.metrics)
    engine = Engine(store, NoQueue(), replace(options, blobs=blobs_of(settings, store)))
    return Opened(engine, lone(engine))


def blobs_of(settings: Settings, directory: Store) -> Blobs:
    """Return the blob store that the settings name, with names for the blobs of an installation."""
    url = settings.blob_place
    if url is None:
        return Blobs()
    from drumline.blobs import S3Credentials, open_blobs  # noqa: PLC0415 - few have large payloads

    given, credentials = settings.blobs, None
    if (given.access_key is None) != (given.secret_key is None):
        raise Invalid(
            "needs the other one: blobs.access_key and blobs.secret_key go together", field="blobs.access_key"
        )
    if given.access_key is not None and given.secret_key is not None:
        credentials = S3Credentials(given.access_key, str(given.secret_key), given.session_token)

    async def read_home() -> str:
        return (await directory.events.log_span()).name

    return Blobs(open_blobs(url, credentials), read_home, over=given.over)


async def open_engine(settings: Settings) -> Engine:
    """Return an engine on the backends that the settings name."""
    return (await wire(settings)).engine


async def embedded_engine(place: ServerLocation) -> Engine:
    """Return an engine for a program of its own: on the backends that it names, or on its data folder."""
    if place.direct is None:
        return await open_engine(Settings(data=place.data, blob_url=place.blob_url))
    queue = None if place.direct.queue is None else Secret(place.direct.queue)
    settings = Settings(data=place.data, store_url=Secret(place.direct.store), queue_url=queue, blob_url=place.blob_url)
    engine = await open_engine(settings)
    if isinstance(engine, FrontEngine):
        engine.follow_shards()
    return engine


async def open_postgres(url: str, *, metrics: Metrics | None = None) -> Store:
    """Return the store at an address of a PostgreSQL."""
    with _explained("postgres", "PostgreSQL as the store"):
        from drumline.stores.postgres import PostgresStore  # noqa: PLC0415
    return await PostgresStore.open(url.replace("postgres://", "postgresql://", 1), metrics=metrics)


async def open_shard(settings: Settings, row: ShardRow, directory: Shard, options: EngineOptions) -> Shard:
    """Return a further shard as the directory lists it, on backends of its own; `options` are those of the directory.

    Without a queue of its own it shares the directory's Redis, under a hash tag of its own. A database that is not the
    one which the directory means is refused: an address may have come to lead elsewhere.
    """
    store_url, queue_url = open_urls(options.box, row)
    metrics = options.metrics.of_shard(row.name)
    store = await open_postgres(store_url, metrics=metrics)
    try:
        await _check_identity(row.name, store, directory.store)
        url = queue_url or settings.queue_url
        queues = _notify_queue(store_url) if url is None else await _redis_queues(settings, url, row.name, metrics)
        listen_stored = None if url is None else _stored_listener(store_url)
    except BaseException:
        await store.close()
        raise
    options = replace(options, metrics=metrics, read_model=queues.read_model, parallel=SERVER_FLIGHTS)
    engine = Engine(shard_view(store, directory.store), queues.queue, options)
    return Shard(row.name, engine, store, queues.swept, listen_stored)


async def _check_identity(name: str, store: Store, directory: Store) -> None:
    here, own = await directory.slots.identity(), await store.slots.identity()
    if here is None or own != ShardIdentity(name, here.directory):
        told = "no shard" if own is None else f"{own.name} of the installation {own.directory}"
        raise Conflict(f"the database of the shard {name} is {told}", field="store_url")


async def _on_postgres(settings: Settings, options: EngineOptions) -> Opened:
    store = await open_postgres(str(settings.store_url), metrics=options.metrics)
    from drumline.stores.postgres.failures import UNMIGRATED  # noqa: PLC0415 - the package is installed, as is known now

    options = replace(options, parallel=SERVER_FLIGHTS, blobs=blobs_of(settings, store))
    directory = await _open_directory(settings, store, options)
    shards = ShardSet(
        directory, open_shard=lambda row: open_shard(settings, row, directory, options), clock=options.clock
    )
    front = replace(
        options,
        limiter=await _open_limiter(settings, options.metrics),
        read_model=None if directory.engine.read_model is None else RoutedReadModel(shards),
    )
    engine = FrontEngine(shards, front, ShardService(shards, options.box, _reach(settings)))
    try:
        await shards.refresh()
    except Unavailable as error:
        if not isinstance(error.__cause__, UNMIGRATED):  # such a schema is about to be migrated, or ends the start
            log.warning("shards.not_read", error=error.message)
    except BaseException:
        await engine.close()
        raise
    return Opened(engine, shards)


async def _open_directory(settings: Settings, store: Store, options: EngineOptions) -> Shard:
    url = str(settings.store_url)
    try:
        if settings.queue_url is None:
            queues = _notify_queue(url)
        else:
            queues = await _redis_queues(settings, settings.queue_url, DIRECTORY, options.metrics)
    except BaseException:
        await store.close()
        raise
    engine = Engine(store, queues.queue, replace(options, read_model=queues.read_model))
    listen_stored = None if settings.queue_url is None else _stored_listener(url)
    return Shard(DIRECTORY, engine, store, queues.swept, listen_stored)


async def _open_limiter(settings: Settings, metrics: Metrics) -> "Limiter | None":
    """Return what limits requests together with other servers: the directory's Redis, if it has one."""
    if settings.queue_url is None:
        return None
    from drumline.redis import RedisLimiter  # noqa: PLC0415 - it is installed, as is known by now

    return await RedisLimiter.open(settings.queue_url, prefix=settings.queue_prefix, metrics=metrics)


def _reach(settings: Settings) -> ShardReach:
    from drumline.stores.postgres.failures import address_of  # noqa: PLC0415

    queue = None if settings.queue_url is None else str(settings.queue_url)
    return ShardReach(open_postgres, address_of, str(settings.store_url), queue)


class _Queues(NamedTuple):
    """The queue of a shard, and what comes with one in Redis."""

    queue: Queue
    swept: SweptQueue | None = None
    read_model: ReadModel | None = None


def _notify_queue(url: str) -> _Queues:
    from drumline.stores.postgres import NotifyQueue  # noqa: PLC0415

    return _Queues(NotifyQueue(url.replace("postgres://", "postgresql://", 1)))


def _stored_listener(url: str) -> Callable[[Callable[[str], None]], Awaitable[bool]]:
    from drumline.stores.postgres.notify import STORED, NotifyListener  # noqa: PLC0415

    return NotifyListener(url.replace("postgres://", "postgresql://", 1), STORED).listen


async def _redis_queues(settings: Settings, url: str, shard: str, metrics: Metrics) -> _Queues:
    with _explained("redis", "Redis as the queue"):
        from drumline.redis import RedisQueue, RedisReadModel  # noqa: PLC0415
    prefix = settings.queue_prefix
    queue = await RedisQueue.open(url, prefix=prefix, shard=shard, metrics=metrics)
    return _Queues(queue, queue, await RedisReadModel.open(url, prefix=prefix, shard=shard, metrics=metrics))


def open_bus(settings: Settings) -> Bus | None:
    """Return the bus that the settings name, if they name one. It connects when it is first used."""
    if settings.bus_url is None:
        return None
    with _explained("kafka", "Kafka as the bus"):
        from drumline.kafka import KafkaBus, KafkaOptions, Login, Tls, Topic, brokers_of  # noqa: PLC0415
    bus = settings.bus
    events = Topic(
        name=bus.events_topic,
        partitions=bus.partitions,
        retention_ms=millis(bus.retention),
        replication=bus.replication,
    )
    letters = replace(events, name=bus.dead_letters_topic, retention_ms=events.retention_ms * 4)
    if bus.sasl != "none" and (bus.username is None or bus.password is None):
        raise Invalid("needs bus.username and bus.password", field="bus.sasl")
    options = KafkaOptions(
        brokers=brokers_of(settings.bus_url),
        topics={Channel.EVENTS: events, Channel.DEAD_LETTERS: letters},
        largest=bus.largest + ENVELOPE,
        tls=Tls(ca=bus.tls_ca, certificate=bus.tls_certificate, key=bus.tls_key) if bus.tls else None,
        login=None
        if bus.sasl == "none"
        else Login(mechanism=bus.sasl.upper(), username=bus.username or "", password=bus.password or ""),
    )
    return KafkaBus(options)


@asynccontextmanager
async def remote_gateway(settings: Settings) -> "AsyncIterator[RemoteGateway]":
    """Give a worker the way to an engine behind HTTP."""
    with _explained("worker", "a remote worker"):
        from drumline.remote import RemoteGateway  # noqa: PLC0415
    async with RemoteGateway(str(settings.url), api_key=settings.api_key) as gateway:
        yield gateway


@contextmanager
def _explained(extra: str, what: str) -> Iterator[None]:
    """Turn a missing driver into what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("drumline"):
            raise
        raise Invalid(f"{what} needs {error.name}: pip install 'drumline[{extra}]'", field=extra) from error
