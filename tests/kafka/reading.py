"""An independent consumer: it knows nothing of Drumline but the names of topics."""

import json
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, TopicPartition

PATIENCE = 60


def read_topic(broker: str, topic: str, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """Return the messages of a topic as they come, partition by partition in order, until there are enough."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": "independent",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found: list[dict[str, Any]] = []
        silent = 0
        while not enough(found):
            message = consumer.poll(0.5)
            silent = silent + 1 if message is None else 0
            if silent > PATIENCE * 2:
                break
            if message is not None and message.error() is None:
                value = json.loads(message.value() or b"{}")
                key = (message.key() or b"").decode() if isinstance(message.key(), bytes) else message.key()
                assert key == value["subject"]
                found.append(value)
        return found
    finally:
        consumer.close()


def firsts(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each event once, where it first came."""
    found: dict[str, dict[str, Any]] = {}
    for message in messages:
        found.setdefault(message["id"], message)
    return list(found.values())


def lives(messages: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return what happened to each subject, in the order of its coming, without repetitions."""
    found: dict[str, list[str]] = {}
    for message in firsts(messages):
        found.setdefault(message["subject"], []).append(message["type"].removeprefix("drumline.task."))
    return found
