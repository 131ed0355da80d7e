"""Measure what figures cost: drains with and without counting, in turns on one machine.

python -m bench.metrics                 on SQLite: engine, store and worker in one process
python -m bench.metrics --postgres      on PostgreSQL with Redis, engine and worker in one process
python -m bench.metrics --rounds 7 --tasks 20000

*silent* counts nothing. *counted* is what every process does besides its work, and the stocktaking of a scheduler.
*charted* counts the log of changes too, as schedulers do for charts and for the figures of tasks: that goes on beside
the drain, and its processor time is all in here. Costs are processor time for each task, of this process and of the
services; the first round warms up and is left out.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from bench.embedded import BULK, CAPACITY, Counting, app, noop
from bench.scale.meter import cpu_seconds, median
from bench.services import postgres, redis
from drumline.core.clock import SystemClock
from drumline.core.meters import Counter, Gauge, Histogram
from drumline.engine.engine import Engine
from drumline.lifecycle.processes import run
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.observe.logging import set_up_logging
from drumline.scheduler.duty import Rounds
from drumline.scheduler.queue_metrics import QueueMetrics
from drumline.scheduler.stats import StatsCounter
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

VARIANTS: Final = ("silent", "counted", "charted")
RESULTS: Final = Path(__file__).parent / "results"

Opened = Callable[[Path], Settings]


def main() -> None:
    """Measure, print it and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tasks", type=int, default=20_000)
    options = parser.parse_args()
    set_up_logging("warning")
    results: dict[str, Any] = {
        "command": " ".join(["python -m bench.metrics", *sys.argv[1:]]),
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load_average_at_start": round(os.getloadavg()[0], 2),
    }
    if options.postgres:
        with postgres() as store, redis() as queue:

            def distributed(_folder: Path) -> Settings:
                return Settings(store_url=Secret(store.recreate("metrics")), queue_url=Secret(queue.url))

            results |= _measure(distributed, [store.pid, queue.pid], options.rounds, options.tasks)
    else:
        results |= _measure(lambda folder: Settings(data=folder), [], options.rounds, options.tasks)
    text = json.dumps(results, indent=2) + "\n"
    (RESULTS / f"metrics-{'postgres' if options.postgres else 'sqlite'}.json").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _measure(opened: Opened, services: list[int], rounds: int, tasks: int) -> dict[str, Any]:
    costs: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    rates: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for turn in range(rounds + 1):
        for variant in VARIANTS if turn % 2 else reversed(VARIANTS):
            with (
                tempfile.TemporaryDirectory(prefix="drumline-bench-") as folder,
                _silence() if variant == "silent" else nullcontext(),
            ):
                measured: list[float] = []
                run(_drain(opened(Path(folder)), variant, services, tasks, measured))
            if turn:
                costs[variant].append(measured[0])
                rates[variant].append(measured[1])
    return {
        variant: {
            "cpu_us_per_task": round(median(costs[variant]), 1),
            "least_cpu_us_per_task": round(min(costs[variant]), 1),
            "tasks_per_second": round(median(rates[variant])),
            "most_tasks_per_second": round(max(rates[variant])),
            "cpu_to_silent": round(median(costs[variant]) / median(costs["silent"]), 3),
            "rate_to_silent": round(median(rates[variant]) / median(rates["silent"]), 3),
        }
        for variant in VARIANTS
    }


async def _drain(settings: Settings, variant: str, services: list[int], tasks: int, measured: list[float]) -> None:
    """Drain tasks that wait; add the processor time for each in microseconds, and how many were done a second."""
    engine = await open_engine(settings)
    await engine.store.migrate()
    for _ in range(0, tasks, BULK):
        await engine.submissions.submit_many([noop.call(0).request for _ in range(BULK)])
    gateway = Counting(engine)
    gateway.wanted = tasks // BULK * BULK
    worker = WorkerOptions(capacity=CAPACITY, grace=1.0)
    running_worker = assemble_worker(gateway, [app], worker, BuiltIn(http=False, pdf=False), engine.metrics)
    stop = asyncio.Event()
    before, began = _cpu(services), time.perf_counter()
    running = [asyncio.create_task(running_worker.run(stop), name="worker")]
    running += [asyncio.create_task(each.run(stop), name="duty") for each in _duties(engine, variant)]
    await gateway.enough.wait()
    seconds = time.perf_counter() - began
    measured += [(_cpu(services) - before) / gateway.wanted * 1e6, gateway.wanted / seconds]
    stop.set()
    await asyncio.gather(*running)
    await engine.close()


def _duties(engine: Engine, variant: str) -> list[Rounds]:
    """Return what schedulers do for figures."""
    metrics = engine.metrics
    stock = Rounds(QueueMetrics(engine.store, metrics, clock=SystemClock()), metrics=metrics)
    stats = Rounds(StatsCounter(engine.store, metrics=metrics, every=0.25), metrics=metrics)
    return {"silent": [], "counted": [stock], "charted": [stock, stats]}[variant]


def _cpu(services: list[int]) -> float:
    return time.process_time() + cpu_seconds(services)


@contextmanager
def _silence() -> Iterator[None]:
    """Let every meter do nothing, as cheaply as that goes."""

    def nothing(*_: object, **__: object) -> None:
        return None

    with (
        patch.object(Counter, "add", nothing),
        patch.object(Gauge, "set", nothing),
        patch.object(Histogram, "observe", nothing),
        patch.object(Histogram, "of", lambda *_: nothing),
    ):
        yield


if __name__ == "__main__":
    main()
