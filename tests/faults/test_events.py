"""Events reach Kafka complete and in order, whoever is killed: the relays, the broker, or both at once."""

import json
import os
import threading
import time
from contextlib import suppress
from random import Random
from typing import Self

import pytest
import urllib3

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import KEY, Body, Fleet, until
from tests.faults.load import Load
from tests.faults.verdict import judge
from tests.harness.kafka import KafkaServer
from tests.kafka.reading import lives, read_topic

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(600)]

OUTAGE_SECONDS = float(os.environ.get("DRUMLINE_TEST_OUTAGE_SECONDS") or 5)
KILL_EVERY = (1.0, 2.5)
SECONDS_BEFORE, SECONDS_AFTER = 4.0, 5.0
WORDS = {"crashed": "reaped"}
"""How an outcome is called as an event, where it is called otherwise."""


def test_killing_relays_and_the_broker_skips_nothing_and_keeps_the_order(
    make_fleet: MakeFleet, kafka_server: KafkaServer, chance: Random
) -> None:
    topic = f"faults-{chance.randrange(1 << 32):08x}"
    settings = {"bus_url": kafka_server.url(), "bus_events_topic": topic, "bus_dead_letters_topic": f"{topic}-dead"}
    with (
        make_fleet(apis=4, schedulers=2, near=1, far=0, **settings) as fleet,
        Listener(fleet) as listener,
        Load(fleet, chance, per_second=60) as load,
    ):
        _kill_relays(fleet, chance, SECONDS_BEFORE)
        listener.cut()
        kafka_server.kill()
        try:
            _kill_relays(fleet, chance, OUTAGE_SECONDS)
            before = len(load.acknowledged)
        finally:
            kafka_server.start()
        _kill_relays(fleet, chance, SECONDS_AFTER)
        load.stop()
        verdict = judge(fleet, load, within=60)
        until(lambda: _behind(fleet) == 0, 90, lambda: f"{_behind(fleet)} rows behind")
        histories = fleet.attempts(list(load.acknowledged.values()))
        expected = {task: _life(history) for task, history in histories.items()}
        until(lambda: _lacks(listener, expected) == 0, 30, lambda: f"{_lacks(listener, expected)} events not heard")

    total = sum(map(len, expected.values()))
    messages = read_topic(kafka_server.broker, topic, lambda found: _count(found, expected) >= total)
    told = lives(messages)
    wrong = {task: (told.get(task), life) for task, life in expected.items() if told.get(task) != life}
    print(verdict, f"{len(messages)} messages, {len({each['id'] for each in messages})} different")  # noqa: T201
    assert not wrong, list(wrong.items())[:10]
    assert len(load.acknowledged) > before > 0, "nothing was accepted while Kafka was away"
    _check_duplicates(messages)
    heard = lives(listener.events)
    assert {task: heard.get(task) for task in expected} == expected, "the stream told another story"
    assert listener.connections, "nobody was cut off"


class Listener:
    """Somebody who follows the stream, and goes on at another server when one is gone."""

    def __init__(self, fleet: Fleet) -> None:
        self.events: list[Body] = []
        self.connections = 0
        self._fleet = fleet
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=5, read=45))
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._last: str | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()

    def cut(self) -> None:
        """Kill the server that it listens to, and start that again."""
        name = f"api-{self._number + 1}"
        self._fleet.kill(name)
        self._fleet.restart(name)

    @property
    def _number(self) -> int:
        return self.connections % len(self._fleet.apis)

    def _run(self) -> None:
        while not self._stop.is_set():
            with suppress(urllib3.exceptions.HTTPError):
                self._listen(self._fleet.apis[self._number].url)
            self.connections += 1
            time.sleep(0.1)

    def _listen(self, url: str) -> None:
        headers = {"X-API-Key": KEY} | ({"Last-Event-ID": self._last} if self._last else {})
        reply = self._http.request("GET", f"{url}/api/v1/events?type=task", headers=headers, preload_content=False)
        rest = ""
        while not self._stop.is_set() and (piece := reply.read1(65_536)):
            *blocks, rest = (rest + piece.decode()).split("\n\n")
            for block in blocks:
                self._take(dict(line.split(": ", 1) for line in block.splitlines() if ": " in line))
        reply.close()

    def _take(self, message: dict[str, str]) -> None:
        assert message.get("event") != "resync", "the log has dropped what was missed"
        if message.get("event", "").startswith("drumline."):
            self.events.append(json.loads(message["data"]))
        self._last = message.get("id", self._last)
        if self._last:
            self._ready.set()


def _lacks(listener: Listener, expected: dict[str, list[str]]) -> int:
    return sum(map(len, expected.values())) - _count(listener.events, expected)


def _kill_relays(fleet: Fleet, chance: Random, seconds: float) -> None:
    """Kill one scheduler after the other, and with it the relay that it may be, for some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        name = chance.choice(["scheduler-1", "scheduler-2"])
        fleet.kill(name)
        fleet.restart(name)
        time.sleep(chance.uniform(*KILL_EVERY))


def _behind(fleet: Fleet) -> int:
    with suppress(urllib3.exceptions.HTTPError, KeyError):
        health = fleet.ask("GET", "/actuator/health")[1]
        return int(health["components"]["kafka"]["details"]["rows_behind"])
    return -1


def _life(history: list[Body]) -> list[str]:
    """Return what should be told of a task, by what the store has recorded of it."""
    outcomes = [str(attempt["outcome"]) for attempt in history]
    return ["submitted", *(word for outcome in outcomes for word in ("claimed", WORDS.get(outcome, outcome)))]


def _count(messages: list[Body], tasks: dict[str, list[str]]) -> int:
    return len({message["id"] for message in messages if message["subject"] in tasks})


def _check_duplicates(messages: list[Body]) -> None:
    """Check that what came twice was the same event, told of the same change."""
    by_id: dict[str, tuple[str, str, str]] = {}
    for message in messages:
        facts = (message["type"], message["subject"], message["sequence"])
        assert by_id.setdefault(message["id"], facts) == facts
