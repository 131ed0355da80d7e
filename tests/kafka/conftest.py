"""Relays on a real Kafka, with topics of their own, and stores whose time moves by hand."""

from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path

import pytest

from drumline.core.clock import ManualClock
from drumline.kafka import KafkaBus, KafkaOptions, Topic
from drumline.ports.bus import Channel
from drumline.ports.store import Store
from drumline.scheduler.relay import Relay, RelayOptions
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.harness.kafka import KafkaServer
from tests.harness.sqlite import migrated

MakeRelay = Callable[[], Relay]
_numbers = count(1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def options(kafka_server: KafkaServer) -> KafkaOptions:
    number = next(_numbers)
    return KafkaOptions(
        brokers=(kafka_server.broker,),
        topics={
            Channel.EVENTS: Topic(name=f"events-{number}", partitions=3, retention_ms=3_600_000),
            Channel.DEAD_LETTERS: Topic(name=f"dead-{number}", partitions=1, retention_ms=7_200_000),
        },
    )


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(migrated(tmp_path / "d.db"))


@pytest.fixture
async def store(address: str, clock: ManualClock) -> AsyncIterator[Store]:
    opened: Store
    if address.startswith("postgresql:"):
        opened = await PostgresStore.open(address, clock=clock)
    else:
        opened = await SqliteStore.open(address, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def make_relay(store: Store, options: KafkaOptions, clock: ManualClock) -> AsyncIterator[MakeRelay]:
    """Make relays on one store, as several schedulers would."""
    made: list[Relay] = []

    def make() -> Relay:
        relay = Relay(store, KafkaBus(options), RelayOptions(source="/tests", clock=clock))
        made.append(relay)
        return relay

    yield make
    for relay in made:
        await relay.close()


@pytest.fixture
def relay(make_relay: MakeRelay) -> Relay:
    return make_relay()
