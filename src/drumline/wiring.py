"""Puts an engine together from what the settings name: the only place that knows every backend.

Backends are imported when they are asked for, so that only drivers of databases in use are needed.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from drumline.core.duration import millis
from drumline.core.errors import Invalid
from drumline.core.redaction import Redaction
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions, SignInOptions
from drumline.ports.bus import Bus, Channel
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.scheduler.sweep import Sweeper
from drumline.sdk.locate import ServerLocation
from drumline.settings.convert import policy_of
from drumline.settings.fields import Secret, Settings
from drumline.settings.secret_key import box_of
from drumline.settings.sources import check_runtime
from drumline.stores.no_queue import NoQueue

if TYPE_CHECKING:
    from drumline.remote import RemoteGateway

SERVER_FLIGHTS = 2
"""Batches under way at once on a database server, which has two connections for each kind; SQLite has one writer."""
DEFAULT_SIGN_IN = SignInOptions()
ENVELOPE = 10_000
"""Bytes that Kafka adds to a message at most: its key, headers and lengths."""


class Wired(NamedTuple):
    """An engine, and the duty that its queue needs, if it has one that can lose hints."""

    engine: Engine
    sweeper: Sweeper | None = None


async def wire(settings: Settings, *, tracer: Tracer = NO_TRACER, sign_in: SignInOptions = DEFAULT_SIGN_IN) -> Wired:
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
    return Wired(Engine(store, NoQueue(), options))


async def open_engine(settings: Settings) -> Engine:
    """Return an engine on the backends that the settings name."""
    return (await wire(settings)).engine


async def embedded_engine(place: ServerLocation) -> Engine:
    """Return an engine for a program of its own: on the backends that it names, or on its data folder."""
    if place.direct is None:
        return await open_engine(Settings(data=place.data))
    queue = None if place.direct.queue is None else Secret(place.direct.queue)
    return await open_engine(Settings(data=place.data, store_url=Secret(place.direct.store), queue_url=queue))


async def _on_postgres(settings: Settings, options: EngineOptions) -> Wired:
    with _explained("postgres", "PostgreSQL as the store"):
        from drumline.stores.postgres import NotifyQueue, PostgresStore  # noqa: PLC0415
    url = str(settings.store_url).replace("postgres://", "postgresql://", 1)
    metrics = options.metrics
    store = await PostgresStore.open(url, metrics=metrics)
    options = replace(options, parallel=SERVER_FLIGHTS)
    if settings.queue_url is None:
        return Wired(Engine(store, NotifyQueue(url), options))
    try:
        with _explained("redis", "Redis as the queue"):
            from drumline.redis import RedisLimiter, RedisQueue, RedisReadModel  # noqa: PLC0415
        url, prefix = settings.queue_url, settings.queue_prefix
        queue = await RedisQueue.open(url, prefix=prefix, metrics=metrics)
        read_model = await RedisReadModel.open(url, prefix=prefix, metrics=metrics)
        limiter = await RedisLimiter.open(url, prefix=prefix, metrics=metrics)
    except BaseException:
        await store.close()
        raise
    engine = Engine(store, queue, replace(options, read_model=read_model, limiter=limiter))
    return Wired(engine, Sweeper(store, queue, metrics=metrics))


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
