"""What the bus does with a Kafka that is away, or says no."""

import os

import pytest
from msgspec.structs import replace

from drumline.core.errors import Unavailable
from drumline.kafka import KafkaBus, KafkaOptions, Login, Tls, Topic
from drumline.kafka.bus import PRODUCING
from drumline.ports.bus import BusBatch, Channel
from tests.harness.kafka import USER, KafkaServer

NOWHERE = KafkaOptions(
    brokers=("127.0.0.1:1",),
    topics={channel: Topic(name=channel, partitions=1, retention_ms=1000) for channel in Channel},
)


def page(*values: bytes) -> list[BusBatch]:
    return [BusBatch(Channel.EVENTS, ["k"] * len(values), values)]


async def test_what_was_sent_is_kept(options: KafkaOptions) -> None:
    bus = KafkaBus(options)

    await bus.send(page(b"{}", b"{}"))

    assert await bus.sent(seconds=30)
    assert bus.reason == ""
    await bus.close()


async def test_more_than_there_is_room_for_is_sent_piece_by_piece(
    options: KafkaOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRODUCING, "queue.buffering.max.messages", 5)
    bus = KafkaBus(options)

    await bus.send(page(*[b"{}"] * 23))

    assert await bus.sent(seconds=30)
    await bus.close()


@pytest.mark.faults
async def test_a_kafka_that_is_not_there_is_named_with_the_reason() -> None:
    bus = KafkaBus(NOWHERE)

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 .* refused"):
        await bus.send(page(b"{}"))

    await bus.close()


@pytest.mark.faults
async def test_a_wrong_password_is_told(options: KafkaOptions, kafka_server: KafkaServer) -> None:
    guarded = replace(
        options,
        brokers=(kafka_server.guarded_broker,),
        tls=Tls(ca=kafka_server.certificate),
        login=Login(mechanism="PLAIN", username=USER, password="wrong"),
    )
    bus = KafkaBus(guarded)

    with pytest.raises(Unavailable, match="uthentication failed"):
        await bus.send(page(b"{}"))

    await bus.close()


async def test_what_a_broker_refuses_is_not_taken_for_sent(options: KafkaOptions) -> None:
    bus = KafkaBus(replace(options, largest=2_000_000))
    await bus.send(page(b"{}", os.urandom(1_200_000)))

    with pytest.raises(Unavailable, match="too large"):
        await bus.sent(seconds=30)

    await bus.send(page(b"{}"))
    assert await bus.sent(seconds=30), "one refusal must not spoil what comes later"
    await bus.close()


async def test_a_bus_that_was_closed_can_be_closed_again(options: KafkaOptions) -> None:
    bus = KafkaBus(options)

    await bus.close()
    await bus.close()
