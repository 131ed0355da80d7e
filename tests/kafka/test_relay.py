"""The log reaches Kafka complete and in order, whoever dies in between."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from msgspec import Raw
from msgspec.structs import replace
from structlog.testing import capture_logs

from drumline.core.clock import ManualClock
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.event_types import DEAD_LETTERS, FACTS, TASK_CHANGES
from drumline.core.ids import TaskId
from drumline.core.state import Act
from drumline.kafka import KafkaBus, KafkaOptions, Login, Tls
from drumline.ports.bus import CONSUMER, BusBatch, Channel
from drumline.ports.store import LogChunk, Store
from drumline.scheduler import relay as relaying
from drumline.scheduler.relay import HOLD_SECONDS, Relay, RelayOptions
from tests.factories import OOPS, claim, claim_one, open_session, settle, submit
from tests.harness.kafka import PASSWORD, USER, KafkaServer
from tests.kafka.conftest import MakeRelay
from tests.kafka.reading import firsts, lives, read_topic

Body = dict[str, Any]
SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "event-1.json"


async def work(store: Store, count: int) -> dict[TaskId, list[str]]:
    """Bring tasks through their lives, some retried, some dead; return what should be told of each."""
    ada = await open_session(store)
    expected: dict[TaskId, list[str]] = {}
    for _ in range(count):
        expected[await submit(store, retries=1)] = ["submitted"]
    while tasks := await claim(store, ada, limit=50):
        for number, task in enumerate(tasks):
            told = expected[task.lease.task]
            if task.attempt == 1 and number % 5 == 0:
                await settle(store, task.lease, Act.BACK_OFF)
                told += ["claimed", "retried"]
            elif task.attempt == 2 and number % 2 == 0:
                await settle(store, task.lease, Act.FAIL)
                told += ["claimed", "failed"]
            else:
                await settle(store, task.lease, Act.COMPLETE)
                told += ["claimed", "completed"]
    return expected


def events_of(options: KafkaOptions, count: int) -> list[Body]:
    """Read the topic of events until so many different ones have come."""
    topic = options.topics[Channel.EVENTS].name
    return read_topic(options.brokers[0], topic, lambda found: len({each["id"] for each in found}) >= count)


def dead_letters_of(options: KafkaOptions, count: int) -> list[Body]:
    topic = options.topics[Channel.DEAD_LETTERS].name
    return read_topic(options.brokers[0], topic, lambda found: len(found) >= count)


async def relayed(relay: Relay) -> None:
    """Copy until there is nothing left."""
    while await relay.pass_once():
        pass


async def behind(store: Store) -> int:
    await store.events.sequence()
    return next(view.behind for view in await store.events.cursors() if view.consumer == CONSUMER)


async def test_every_change_arrives_once_and_in_order(store: Store, relay: Relay, options: KafkaOptions) -> None:
    expected = await work(store, 60)

    await relayed(relay)

    total = sum(map(len, expected.values()))
    messages = events_of(options, total + 1)  # and the worker
    assert {task: lives(messages)[task] for task in expected} == expected
    assert len(messages) == len(firsts(messages))
    for task in expected:
        sequences = [message["sequence"] for message in messages if message["subject"] == task]
        assert sequences == sorted(sequences)
    assert await behind(store) == 0


async def test_pages_are_short_while_many_tasks_fail(
    store: Store, relay: Relay, options: KafkaOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaying, "MOST_FAILED", 4)
    ada = await open_session(store)
    tasks = [await submit(store, retries=0) for _ in range(20)]
    for _ in tasks:
        await settle(store, (await claim_one(store, ada)).lease, Act.FAIL)
    send, failed = KafkaBus.send, []

    async def counted(bus: KafkaBus, batches: Sequence[BusBatch]) -> None:
        failed.append(sum(len(batch.values) for batch in batches if batch.channel is Channel.DEAD_LETTERS))
        await send(bus, batches)

    monkeypatch.setattr(KafkaBus, "send", counted)

    await relayed(relay)

    assert max(failed) <= 4
    assert [letter["subject"] for letter in dead_letters_of(options, 20)] == tasks
    assert await behind(store) == 0


async def test_what_arrives_keeps_to_the_schema(store: Store, relay: Relay, options: KafkaOptions) -> None:
    expected = await work(store, 30)
    await store.control.pause_queue("mail", tenant="default")
    schema = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text()))

    await relayed(relay)

    dead = sum(life[-1] == "failed" for life in expected.values())
    messages = events_of(options, sum(map(len, expected.values())) + 2) + dead_letters_of(options, dead)
    for message in messages:
        schema.validate(message)
    assert {message["type"] for message in messages} <= {*TASK_CHANGES, *FACTS, *DEAD_LETTERS}
    with pytest.raises(jsonschema_rs.ValidationError):
        schema.validate(messages[-1] | {"data": {}})


async def test_a_dead_letter_is_complete(store: Store, relay: Relay, options: KafkaOptions, clock: ManualClock) -> None:
    ada = await open_session(store)
    task = await submit(store, "work", payload={"order": 7}, tags=("shop",), retries=1)
    await settle(store, (await claim_one(store, ada)).lease, Act.BACK_OFF)
    clock.advance(1)
    lease = (await claim_one(store, ada)).lease
    await store.outputs.append_log([LogChunk(task=task, epoch=lease.epoch, seq=0, text="charging\ndeclined\n")])
    await settle(store, lease, Act.FAIL)

    await relayed(relay)

    (letter,) = dead_letters_of(options, 1)
    data = letter["data"]
    assert (letter["type"], letter["subject"]) == ("drumline.dead_letter.created", task)
    assert (data["task"], data["name"], data["queue"], data["tags"]) == (task, "work", "default", ["shop"])
    assert data["payload"] == {"order": 7}
    assert data["reason"]
    assert data["error"]["kind"] == "ValueError"
    assert [(attempt["attempt"], attempt["outcome"]) for attempt in data["attempts"]] == [(1, "retried"), (2, "failed")]
    assert data["log"] == "charging\ndeclined"


async def test_a_dead_letter_tells_what_was_known_when_the_task_failed(
    store: Store, relay: Relay, options: KafkaOptions, clock: ManualClock
) -> None:
    ada = await open_session(store)
    task = await submit(store, payload={"order": 7}, retries=0)
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL)
    clock.advance(1)
    await store.control.retry([task])
    await settle(store, (await claim_one(store, ada)).lease, Act.COMPLETE)

    await relayed(relay)

    (letter,) = dead_letters_of(options, 1)
    assert [attempt["outcome"] for attempt in letter["data"]["attempts"]] == ["failed"]


async def test_a_dead_letter_that_was_retried_before_it_was_relayed_says_what_it_said_when_it_came(
    store: Store, relay: Relay, options: KafkaOptions, clock: ManualClock
) -> None:
    ada = await open_session(store)
    task = await submit(store, payload={"order": 7}, retries=0)
    used_up, permanent = cause_of(OOPS, Reason.RETRIES_EXHAUSTED), cause_of(OOPS, Reason.PERMANENT)
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL, cause=used_up)
    await store.control.retry_edited(task, Raw(b'{"order":8}'))
    clock.advance(1)
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL, cause=permanent)

    await relayed(relay)

    first, second = (letter["data"] for letter in dead_letters_of(options, 2))
    assert (first["reason"], first["payload"], len(first["attempts"])) == ("retries_exhausted", {"order": 7}, 1)
    assert (second["reason"], second["payload"], len(second["attempts"])) == ("permanent", {"order": 8}, 2)


async def test_a_dead_letter_that_is_too_large_comes_without_its_payload(store: Store, options: KafkaOptions) -> None:
    await submit(store, payload={"text": "x" * 50_000}, retries=0)
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.FAIL)
    relay = Relay(store, KafkaBus(options), RelayOptions(source="/tests", largest=20_000))

    await relayed(relay)
    await relay.close()

    (letter,) = dead_letters_of(options, 1)
    assert "payload" not in letter["data"]
    assert letter["data"]["error"]


async def test_relays_that_die_at_any_point_skip_nothing(
    store: Store, make_relay: MakeRelay, options: KafkaOptions, clock: ManualClock
) -> None:
    expected = await work(store, 30)
    total = sum(map(len, expected.values())) + 1

    for steps in range(1, 40, 3):
        dying = asyncio.create_task(make_relay().pass_once())
        for _ in range(steps):
            await asyncio.sleep(0.002)
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
        clock.advance(HOLD_SECONDS + 1)
    await relayed(make_relay())

    messages = events_of(options, total)
    assert {task: lives(messages)[task] for task in expected} == expected


async def test_one_relay_works_and_the_others_stand_by(
    store: Store, make_relay: MakeRelay, options: KafkaOptions
) -> None:
    first, second = make_relay(), make_relay()
    await submit(store)

    await first.pass_once()
    await submit(store)
    stood_by = await second.pass_once()
    await first.close()
    await second.pass_once()

    assert stood_by == 0
    assert second.every < 1
    messages = events_of(options, 2)
    assert len(messages) == 2


async def test_missing_topics_are_made_as_the_settings_say(store: Store, relay: Relay, options: KafkaOptions) -> None:
    await submit(store)

    await relayed(relay)

    admin = AdminClient({"bootstrap.servers": options.brokers[0]})
    topics = admin.list_topics(timeout=60).topics
    for topic in options.topics.values():
        (future,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic.name)]).values()
        assert len(topics[topic.name].partitions) == topic.partitions
        assert future.result(60)["retention.ms"].value == str(topic.retention_ms)


@pytest.mark.faults
@pytest.mark.timeout(120)
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
async def test_a_broker_that_is_away_is_waited_for_and_told_once(
    store: Store, relay: Relay, options: KafkaOptions, kafka_server: KafkaServer
) -> None:
    expected = await work(store, 20)
    await relayed(relay)
    while await behind(store):  # a broker of a busy machine may not have answered in time, which is told as well
        await relayed(relay)
    kafka_server.kill()
    try:
        with capture_logs() as logs:
            expected |= await work(store, 20)
            for _ in range(3):
                await relay.pass_once()
        while_away = await behind(store)
    finally:
        kafka_server.start()
    async with asyncio.timeout(60):
        while await behind(store):
            await relay.pass_once()

    messages = events_of(options, sum(map(len, expected.values())) + 2)
    assert while_away > 0
    assert [entry["event"] for entry in logs] == ["bus.away"]
    assert {task: lives(messages)[task] for task in expected} == expected


async def test_a_guarded_broker_is_reached_with_tls_and_a_login(
    store: Store, options: KafkaOptions, kafka_server: KafkaServer
) -> None:
    guarded = KafkaOptions(
        brokers=(kafka_server.guarded_broker,),
        topics=options.topics,
        tls=Tls(ca=kafka_server.certificate),
        login=Login(mechanism="PLAIN", username=USER, password=PASSWORD),
    )
    relay = Relay(store, KafkaBus(guarded), RelayOptions(source="/tests"))
    task = await submit(store)

    await relayed(relay)
    while await behind(store):  # a broker of a busy machine may not have answered in time
        await relayed(relay)
    await relay.close()

    assert [message["subject"] for message in events_of(options, 1)] == [task]


async def test_a_broker_that_is_away_is_noted_though_there_is_nothing_to_send(
    store: Store, options: KafkaOptions, clock: ManualClock
) -> None:
    nowhere = Relay(
        store, KafkaBus(replace(options, brokers=("127.0.0.1:1",))), RelayOptions(source="/tests", clock=clock)
    )
    await nowhere.pass_once()
    (away,) = await store.events.cursors()
    await nowhere.close()

    relay = Relay(store, KafkaBus(options), RelayOptions(source="/tests", clock=clock))
    await relay.pass_once()
    (back,) = await store.events.cursors()
    await relay.close()

    assert away.error is not None
    assert "127.0.0.1:1 does not take events" in away.error
    assert back.error is None
