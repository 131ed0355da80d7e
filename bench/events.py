"""Measure what events cost: writing them on the hot path, and reading and relaying them beside it.

python -m bench.events                  PostgreSQL with Redis; Kafka too if make test has fetched it
python -m bench.events --tasks 20000    fewer tasks in each round
python -m bench.events --relay          only what goes on beside the hot path

Costs are processor time, of PostgreSQL and of this process, so that they hold on a busy machine too.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from confluent_kafka import Producer
from msgspec import Raw

from bench.scale.meter import cpu_seconds, median
from bench.services import Postgres, postgres, redis
from drumline.core.codec import encode
from drumline.core.event import cloud_event
from drumline.core.outcome import Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.kafka.bus import HEADERS, PRODUCING
from drumline.lifecycle.processes import run
from drumline.observe.logging import set_up_logging
from drumline.ports.gateway import Report
from drumline.scheduler.relay import Relay, RelayOptions
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.stores.postgres.statements import SQL
from drumline.wiring import open_bus, open_engine
from tests.harness import kafka
from tests.harness.kafka import KafkaServer

TASKS = 50_000
ROUNDS = 5
BATCH = 500
PAGE = 8000
SPEC = SessionSpec(
    host="bench", pid=os.getpid(), version="0", queues=(), types=(TaskType(name="work"),), capacity=BATCH
)


def main() -> None:
    """Measure, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--relay", action="store_true")
    options = parser.parse_args()
    set_up_logging("warning")
    results: dict[str, Any] = {"load": os.getloadavg()}

    async def everything() -> None:
        with postgres() as store, redis() as queue:
            if not options.relay:
                results["hot_path"] = await _hot_path(store, queue.url, options.tasks, options.rounds)
            results["beside_it"] = await _beside(store, queue.url, options.tasks)

    run(everything())
    json.dump(results, sys.stdout, indent=2)
    print()


async def _hot_path(store: Postgres, queue: str, tasks: int, rounds: int) -> dict[str, Any]:
    """Drain tasks with and without writing what changed, in turns."""
    costs: dict[str, list[float]] = {"untold": [], "told": []}
    speeds: dict[str, list[float]] = {"untold": [], "told": []}
    for _ in range(rounds):
        for name, measured in costs.items():
            with _untold() if name == "untold" else _as_built():
                async with _engine(store, queue) as engine:
                    await drain(engine, 2 * BATCH)
                    began, before = time.perf_counter(), _cpu(store)
                    await drain(engine, tasks)
                    speeds[name].append(tasks / (time.perf_counter() - began))
                    measured.append((_cpu(store) - before) / tasks * 1e6)
    return {
        "cpu_us_per_task": {name: round(median(values), 1) for name, values in costs.items()},
        "tasks_per_second": {name: round(median(values)) for name, values in speeds.items()},
        "rounds": {name: [round(value, 1) for value in values] for name, values in costs.items()},
    }


async def _beside(store: Postgres, queue: str, tasks: int) -> dict[str, Any]:
    """Pass on what a drain has told, step by step."""
    async with _engine(store, queue) as engine:
        await drain(engine, tasks)
        log = engine.store.events
        found: dict[str, Any] = {}

        async def sequence() -> int:
            while await log.sequence():
                pass
            return (await log.log_span()).last

        found["rows"] = (await _cost(store, sequence))[0]

        async def write() -> int:
            position, count = 0, 0
            while True:
                page = await log.read_written(after=position, limit=PAGE, source="/bench")
                if page.position == position:
                    return count
                position, count = page.position, count + len(page.values)

        found["events"], reading = await _cost(store, lambda: _events(engine))
        _, writing = await _cost(store, write)
        found["cpu_us_per_event"] = {"read": reading, "read and written out": writing}
        if kafka.missing() is None:
            found["cpu_us_per_event"]["relayed to Kafka"] = await _relay(store, engine)
        return found


async def _relay(store: Postgres, engine: Engine) -> dict[str, float]:
    server = KafkaServer()
    try:
        bus = open_bus(Settings(bus_url=Secret(server.url())))
        assert bus is not None
        relay = Relay(engine.store, bus, RelayOptions(source="/bench"))
        before = cpu_seconds([server.pid])

        async def passes() -> int:
            pages = 0
            while passed := await relay.pass_once():
                pages += passed
            return pages

        began = time.perf_counter()
        _, cost = await _cost(store, passes, count=(await _events(engine)))
        seconds = time.perf_counter() - began
        await relay.close()
        events = await _events(engine)
        broker = (cpu_seconds([server.pid]) - before) / events * 1e6
        told = {"here": cost, "broker": round(broker, 1), "events_per_second": round(events / seconds)}
        return told | _bare(server, await _messages(engine))
    finally:
        server.remove()


async def _messages(engine: Engine) -> list[tuple[str, bytes]]:
    """Return the key and the value of every event, as the relay sends them."""
    messages: list[tuple[str, bytes]] = []
    position = 0
    while (page := await engine.store.events.read_events(after=position, limit=PAGE)).position > position:
        position = page.position
        told = (cloud_event(event, source="/bench") for event in page.events)
        messages += [(event.subject, encode(event)) for event in told]
    return messages


def _bare(server: KafkaServer, messages: Sequence[tuple[str, bytes]]) -> dict[str, float]:
    """Send the same messages from a list by the producer alone, with the settings of the relay's."""
    producer = Producer({"bootstrap.servers": server.broker, **PRODUCING})
    topic = Settings().bus.events_topic
    producer.list_topics(topic)  # connects: the relay's had done so before its first page
    used, began = time.process_time(), time.perf_counter()
    for key, value in messages:
        while True:
            try:
                producer.produce(topic, value, key=key, headers=HEADERS)
                break
            except BufferError:
                producer.poll(0.01)
    producer.flush()
    rate = len(messages) / (time.perf_counter() - began)
    cost = (time.process_time() - used) / len(messages) * 1e6
    return {"bare_here": round(cost, 1), "bare_events_per_second": round(rate)}


async def _events(engine: Engine) -> int:
    position, count = 0, 0
    while (page := await engine.store.events.read_events(after=position, limit=PAGE)).position > position:
        position, count = page.position, count + len(page.events)
    return count


async def _cost(store: Postgres, work: Callable[[], Awaitable[int]], *, count: int | None = None) -> tuple[int, float]:
    """Return what some work gave, and its cost in microseconds of processor time for each of them."""
    before = _cpu(store)
    given = await work()
    return given, round((_cpu(store) - before) / (count or given or 1) * 1e6, 1)


def _cpu(store: Postgres) -> float:
    return cpu_seconds([store.pid]) + time.process_time()


@asynccontextmanager
async def _engine(store: Postgres, queue: str) -> AsyncIterator[Engine]:
    url = store.recreate("events")
    engine = await open_engine(Settings(store_url=Secret(url), queue_url=Secret(queue)))
    await engine.store.migrate()
    yield engine
    await engine.close()


async def drain(engine: Engine, tasks: int) -> None:
    """Submit tasks, claim and complete them, batch by batch."""
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)
    for _ in range(tasks // BATCH):
        await engine.submissions.submit_many([TaskRequest(name="work", payload=Raw(b"{}"))] * BATCH)
        claimed = 0
        while claimed < BATCH:
            given = await gateway.claim(session, limit=BATCH, wait=1)
            claimed += len(given)
            await gateway.settle([Report(task.lease, Succeeded(Raw(b"1"))) for task in given])
    await gateway.close_session(session)


@contextmanager
def _as_built() -> Iterator[None]:
    yield


@contextmanager
def _untold() -> Iterator[None]:
    """Leave out of the three hot statements what they write into the outbox."""
    texts = {name: SQL[name].text for name in ("submit", "claim_hinted", "claim_due", "settle")}
    for name, text in texts.items():
        head, _, tail = text.rpartition("INSERT INTO drumline.outbox")
        numbers = {parameter: f"${number}" for number, parameter in enumerate(SQL[name].names, 1)}
        if name == "submit":
            tail = f"SELECT clock.now AS at FROM clock WHERE {numbers['act']}::int2 IS NOT NULL"
        elif name == "settle":
            ids = numbers["ids"]
            tail = (
                f"SELECT count(*)::int4, CASE WHEN count(*) < cardinality({ids}) THEN array_agg(e.id) END "
                f"FROM ended AS e WHERE {numbers['usual_acts']}::int2 IS NOT NULL OR {numbers['acts']} IS NOT NULL "
                "HAVING count(*) > 0"
            )
        else:
            tail = re.sub(r"^[^)]*\)", "", tail)  # its columns; a query that nobody asks is not run
        SQL[name].text = head + tail
    try:
        yield
    finally:
        for name, text in texts.items():
            SQL[name].text = text


if __name__ == "__main__":
    main()
