"""Measure whether an outage of Kafka slows tasks down: drains with a relay beside them, with and without a broker.

python -m bench.outage                  PostgreSQL with Redis, Kafka, and a scheduler process that relays
python -m bench.outage --seconds 30     how long the broker is away, killed with -9

In one run, each for a while: a scheduler that relays nothing; one that relays to a broker that is there; the same when
its broker is gone; and the first again. Everything shares the machine, so the relay's own work shows as well. Rounds of
10,000 tasks; the rate is the median.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.events import drain
from bench.scale.meter import cpu_seconds, median
from bench.services import Postgres, postgres, redis
from drumline.engine.engine import Engine
from drumline.lifecycle.processes import run
from drumline.observe.logging import set_up_logging
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine
from tests.harness import kafka
from tests.harness.kafka import KafkaServer

TASKS: Final = 10_000
AWAY_SECONDS: Final = 30.0
OTHER_SECONDS: Final = 10.0
CATCH_UP_SECONDS: Final = 90.0
RESULTS: Final = Path(__file__).parent / "results" / "outage.json"


def main() -> None:
    """Measure, print it and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=AWAY_SECONDS)
    seconds = parser.parse_args().seconds
    if (reason := kafka.missing()) is not None:
        sys.exit(reason)
    set_up_logging("warning")
    results: dict[str, Any] = {
        "command": " ".join(["python -m bench.outage", *sys.argv[1:]]),
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load_average_at_start": round(os.getloadavg()[0], 2),
    }
    server = KafkaServer()
    try:
        with postgres() as store, redis() as queue:
            run(_measure(store, queue.url, server, seconds, results))
    finally:
        server.remove()
    text = json.dumps(results, indent=2) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


async def _measure(store: Postgres, queue: str, server: KafkaServer, seconds: float, results: dict[str, Any]) -> None:
    settings = Settings(store_url=Secret(store.recreate("outage")), queue_url=Secret(queue))
    engine = await open_engine(settings)
    await engine.store.migrate()
    await drain(engine, 2 * TASKS)  # whatever has to warm up
    with _scheduler(settings, "") as scheduler:
        results["without_relay"] = await _rounds(engine, store, scheduler, OTHER_SECONDS)
    with _scheduler(settings, server.url()) as relay:
        while not await engine.store.events.cursors():
            time.sleep(0.1)  # noqa: ASYNC251 - nothing else goes on here
        results["with_broker"] = await _rounds(engine, store, relay, OTHER_SECONDS)
        server.kill()
        results["broker_away"] = await _rounds(engine, store, relay, seconds)
        behind = sum(cursor.behind for cursor in await engine.store.events.cursors())
        server.start()
        results["rows_waiting_at_the_end"] = behind
        results["caught_up_s"] = await _caught_up(engine)
    with _scheduler(settings, "") as scheduler:
        results["without_relay_again"] = await _rounds(engine, store, scheduler, OTHER_SECONDS)
    await engine.close()
    away = results["broker_away"]["tasks_per_second"]
    plain = median([results[name]["tasks_per_second"] for name in ("without_relay", "without_relay_again")])
    results["away_to_with_broker"] = round(away / results["with_broker"]["tasks_per_second"], 2)
    results["away_to_without_relay"] = round(away / plain, 2)


async def _rounds(engine: Engine, store: Postgres, scheduler: int, seconds: float) -> dict[str, Any]:
    """Drain tasks again and again for a while; return how fast that went, and what it cost here and there."""
    rates, ends_at = [], time.monotonic() + seconds
    here, there = _cpu(store), cpu_seconds([scheduler])
    while time.monotonic() < ends_at:
        began = time.perf_counter()
        await drain(engine, TASKS)
        rates.append(TASKS / (time.perf_counter() - began))
    tasks = TASKS * len(rates)
    return {
        "tasks": tasks,
        "tasks_per_second": round(median(rates)),
        "slowest_round": round(min(rates)),
        "cpu_us_per_task": round((_cpu(store) - here) / tasks * 1e6, 1),
        "scheduler_cpu_us_per_task": round((cpu_seconds([scheduler]) - there) / tasks * 1e6, 1),
    }


async def _caught_up(engine: Engine) -> float | None:
    """Return after how many seconds the relay has passed on everything."""
    began = time.monotonic()
    while time.monotonic() < began + CATCH_UP_SECONDS:
        if not any(cursor.behind for cursor in await engine.store.events.cursors()):
            return round(time.monotonic() - began, 1)
        time.sleep(0.2)  # noqa: ASYNC251 - nothing else goes on here
    return None


@contextmanager
def _scheduler(settings: Settings, bus: str) -> Iterator[int]:
    """Run a scheduler, which relays to a bus if there is one, and give its process id."""
    with tempfile.TemporaryDirectory(prefix="drumline-bench-") as folder:
        environment = os.environ | {
            "DRUMLINE_STORE_URL": str(settings.store_url),
            "DRUMLINE_QUEUE_URL": str(settings.queue_url),
            "DRUMLINE_DATA": folder,
            "DRUMLINE_LOG_LEVEL": "error",
            **({"DRUMLINE_BUS_URL": bus} if bus else {}),
        }
        process = subprocess.Popen([sys.executable, "-m", "drumline.cli.main", "scheduler"], env=environment)
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(30)


def _cpu(store: Postgres) -> float:
    return cpu_seconds([store.pid]) + time.process_time()


if __name__ == "__main__":
    main()
