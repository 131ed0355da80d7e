"""What leaves for Kafka has no secret in it, whatever a task that fails says of it."""

import json
from typing import Any

from drumline.core.clock import ManualClock
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.kafka import KafkaOptions
from drumline.ports.bus import Channel
from drumline.ports.store import Store
from drumline.scheduler.relay import Relay
from drumline.sdk.signals import Permanent
from drumline.stores.no_queue import NoQueue
from drumline.stores.sealing import AesBox
from tests.kafka.reading import read_topic
from tests.worker.house import House, Line

CANARY = "canary-7f3a"
PLAIN = "songbird-51c0"


async def test_a_dead_letter_has_no_secret_in_it(
    store: Store, relay: Relay, options: KafkaOptions, clock: ManualClock
) -> None:
    engine = Engine(store, NoQueue(), EngineOptions(clock=clock, box=AesBox([b"k" * 32])))
    await engine.secrets.put("api", CANARY, tenant="default")
    house = House(engine, clock, Line(engine))

    @house.app.task(name="charge")
    async def charge(token: str, password: str, order: int) -> None:
        print(f"charging {order} with {token}")  # noqa: T201 - it is what a careless task does
        raise Permanent(f"401 for {token} of {len(password)} letters")

    payload: dict[str, Any] = {"token": {"$secret": "api"}, "password": PLAIN, "order": 7}
    async with house.worker():
        view = await house.run("charge", payload)
    while await relay.pass_once():
        pass

    def has_failed(found: list[dict[str, Any]]) -> bool:
        return any(message["type"] == "drumline.task.failed" for message in found)

    (letter,) = read_topic(options.brokers[0], options.topics[Channel.DEAD_LETTERS].name, lambda found: len(found) >= 1)
    events = read_topic(options.brokers[0], options.topics[Channel.EVENTS].name, has_failed)
    assert view.state is State.FAILED
    assert letter["data"]["payload"] == {"token": {"$secret": "api"}, "password": "[redacted]", "order": 7}
    assert letter["data"]["error"]["message"] == "401 for *** of 13 letters"
    assert letter["data"]["log"] == "charging 7 with ***"
    assert has_failed(events)
    told = json.dumps([letter, *events])
    assert CANARY not in told
    assert PLAIN not in told
