"""Sending to Kafka.

The producer is idempotent and waits for all in-sync brokers, and a message never expires: so the messages of one
partition arrive as they were handed over, without gaps, each once for each time that it was sent. A process
that dies has sent a beginning of its batch, in every partition.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from drumline.core.errors import Unavailable
from drumline.kafka.options import KafkaOptions, Topic
from drumline.ports.bus import BusBatch

T = TypeVar("T")

ADMIN_SECONDS: Final = 4.0
CHECK_SECONDS: Final = 3.0
ROOM_SECONDS: Final = 4.0
"""How long it may take until there is room for more: a page of large dead letters is more than a producer holds."""
HEADERS: Final[dict[str, str | bytes | None]] = {"content-type": "application/cloudevents+json; charset=UTF-8"}
"""Says that a message is a whole CloudEvent, as its protocol binding for Kafka wants it."""

PRODUCING: Final[dict[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    # A broker that knows nothing of a producer takes any of its messages as the first (KAFKA-15591). Were two requests
    # under way while it starts, it could refuse the first of them and keep the second.
    "max.in.flight.requests.per.connection": 1,
    "message.timeout.ms": 0,  # an event that gave up would be overtaken by the next one of its task
    "linger.ms": 5,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",  # as Java does it, so that others find a task's partition too
    "delivery.report.only.error": True,
}

log: structlog.stdlib.BoundLogger = structlog.get_logger()

# What librdkafka has to say about a broker that is away, again and again, the relay says once.
_SILENT: Final = logging.getLogger("drumline.kafka")
_SILENT.setLevel(logging.CRITICAL + 1)


class KafkaBus:
    """`ports.bus.Bus` on Kafka. Everything that waits does so in one thread of its own."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._thread = ThreadPoolExecutor(1, "drumline-kafka")
        self._producer: Producer | None = None
        self._admin: AdminClient | None = None
        """What checks are asked through; kept, so that a check makes no connection."""
        self._has_topics = False
        self._is_closed = False
        self._refused: str | None = None
        self._reason = ""

    @property
    def reason(self) -> str:
        """Why nothing can be sent at the moment: the first error since the last success."""
        return self._reason and self._told(self._reason)

    async def send(self, batches: Sequence[BusBatch]) -> None:
        """Hand a page over."""
        await self._run(lambda: self._send(batches))

    async def sent(self, *, seconds: float) -> bool:
        """Wait until everything that was handed over is kept by all in-sync brokers."""
        return await self._run(lambda: self._is_sent(seconds))

    async def check(self) -> None:
        """Ask the brokers for what they know of the topic of events."""
        await self._run(self._check)

    async def forget(self) -> None:
        """Send nothing more of what was handed over."""
        await self._run(self._drop)

    async def close(self) -> None:
        """Let go of every connection."""
        if self._is_closed:
            return
        self._is_closed = True
        await self.forget()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)

    async def _run(self, work: Callable[[], T]) -> T:
        # Nothing in the thread waits longer than it was told to, so it needs no timeout besides.
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _send(self, batches: Sequence[BusBatch]) -> None:
        try:
            self._make_topics()
            producer = self._producer = self._producer or self._new_producer()
            for batch in batches:
                self._produce(producer, batch)
        except (KafkaException, BufferError) as error:
            self._drop()
            raise self._unavailable(_words(error)) from error

    def _produce(self, producer: Producer, batch: BusBatch) -> None:
        """Hand messages over; where there is no room for one, once some of the others are kept."""
        topic = self._options.topics[batch.channel].name
        produce, noted = producer.produce, self._note_refusal
        for key, value in zip(batch.keys, batch.values, strict=True):
            try:
                produce(topic, value, key, headers=HEADERS, on_delivery=noted)
            except BufferError:
                producer.flush(ROOM_SECONDS)
                produce(topic, value, key, headers=HEADERS, on_delivery=noted)

    def _check(self) -> None:
        self._admin = self._admin or self._new_admin()
        name = next(iter(self._options.topics.values())).name
        try:
            self._admin.list_topics(topic=name, timeout=CHECK_SECONDS)
        except KafkaException as error:
            self._admin.poll(0)
            raise self._unavailable(_words(error)) from error
        self._reason = ""

    def _is_sent(self, seconds: float) -> bool:
        if self._producer is None:
            return True
        left = self._producer.flush(seconds)
        if self._refused is not None:
            refused = self._refused
            self._drop()
            raise self._unavailable(refused)
        if not left:
            self._reason = ""
        return not left

    def _drop(self) -> None:
        """Begin anew: a producer that was refused something, or has failed for good, is of no use any more."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(0)
        self._refused = None  # what was purged has just been reported as refused

    def _new_producer(self) -> Producer:
        return Producer(
            self._options.connection()
            | PRODUCING
            | {"message.max.bytes": self._options.largest, "error_cb": self._heard, "logger": _SILENT}
        )

    def _new_admin(self) -> AdminClient:
        return AdminClient(self._options.connection() | {"error_cb": self._heard, "logger": _SILENT})

    def _make_topics(self) -> None:
        """Make the topics that are missing, once; where that is not allowed, an operator has to."""
        if self._has_topics:
            return
        admin = self._new_admin()
        try:
            known = admin.list_topics(timeout=ADMIN_SECONDS).topics
        finally:
            admin.poll(0)  # what it has heard meanwhile says more than that there was no answer
        missing = [topic for topic in self._options.topics.values() if topic.name not in known]
        for name, future in admin.create_topics([_new(topic) for topic in missing]).items() if missing else ():
            try:
                future.result(ADMIN_SECONDS)
                log.info("topic.created", topic=name)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
        self._has_topics = True

    def _note_refusal(self, error: KafkaError | None, _message: object) -> None:
        if error is not None:
            self._refused = self._refused or error.str()
            self._has_topics = False

    def _heard(self, error: KafkaError) -> None:
        # That all of them are down follows from what was said of each, which says more.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - its public name
            self._reason = self._reason or error.str()
        if error.fatal():
            self._refused = self._refused or error.str()

    def _unavailable(self, reason: str) -> Unavailable:
        self._reason = self._reason or reason
        return Unavailable(self._told(self._reason))

    def _told(self, reason: str) -> str:
        return f"Kafka at {','.join(self._options.brokers)} does not take events: {reason}"


def _new(topic: Topic) -> NewTopic:
    return NewTopic(
        topic.name,
        num_partitions=topic.partitions,
        replication_factor=-1 if topic.replication is None else topic.replication,
        config={"retention.ms": str(topic.retention_ms)},
    )


def _words(error: KafkaException | BufferError) -> str:
    first = error.args[0] if error.args else ""
    return first.str() if isinstance(first, KafkaError) else str(first)
