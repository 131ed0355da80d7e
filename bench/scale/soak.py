"""Seventy percent of what the machine can do, for a long time: nothing grows but what is kept on purpose.

Ended tasks are kept (`task`, `attempt`), and what changed is noted for those who will read it (`outbox`); without a
retention these three grow with the number of tasks, and only they may. With one they grow until it has passed: what was
read of the log is kept for two minutes at least.
"""

import asyncio
import os
import time
from typing import Any, Final

from bench.scale.meter import cpu_seconds, median, private_mb, tree_of
from bench.scale.rack import BATCH, Crew, Scale, System, requests_for
from bench.scale.report import say
from bench.services import postgres, redis
from drumline.engine.engine import Engine

LOAD: Final = 0.7
MEASURE_SECONDS: Final = 15.0
MOST_WAITING: Final = 20_000
TICK: Final = 0.02
READ_SECONDS: Final = 120
"""How long tasks are kept beyond what everybody has read of the log, whatever the retention."""
SIZE_SLACK_KB: Final = 32 * 1024
KEPT: Final = ("task", "attempt", "outbox")
STATS: Final = """
SELECT relname, n_live_tup, n_dead_tup, autovacuum_count, pg_total_relation_size(relid) / 1024
FROM pg_stat_user_tables
WHERE relname IN ('task_live', 'task', 'attempt', 'outbox', 'claim', 'session')
"""


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    with postgres() as server, redis() as broker:
        system = System(name="soak", server=server, broker=broker, retention=scale.retention)
        system.create()
        with system.workers() as crew:
            return asyncio.run(_soak(scale, system, crew))


async def _soak(scale: Scale, system: System, crew: Crew) -> dict[str, Any]:
    async with system.engine() as engine:
        capacity = await _capacity(engine, crew)
        rate = scale.rate or capacity * LOAD
        minutes = scale.minutes / 10 if scale.quick else scale.minutes
        say(f"{capacity:,.0f} tasks a second at most; {minutes:g} minutes at {rate:,.0f}")
        await asyncio.to_thread(crew.await_completed, crew.completed())
        samples: list[dict[str, Any]] = []
        producer = Producer(engine, rate)
        producing = asyncio.create_task(producer.run())
        pids = _pids(system, crew)
        begun = crew.completed()
        for minute in range(max(3, round(minutes))):
            before, spent, began = crew.completed(), cpu_seconds([pids["postgres"]]), time.monotonic()
            await asyncio.sleep(60.0)
            seconds = time.monotonic() - began
            done = crew.completed() - before
            sample = await asyncio.to_thread(_sample, system, pids)
            postgres_us = (cpu_seconds([pids["postgres"]]) - spent) / max(done, 1) * 1e6
            backlog = producer.submitted - (crew.completed() - begun)
            samples.append(
                {"per_s": round(done / seconds), "postgres_us": round(postgres_us, 1), "backlog": backlog} | sample
            )
            say(f"minute {minute + 1}: {samples[-1]}")
        producer.is_over = True
        await producing
        await asyncio.to_thread(crew.await_completed, begun + producer.submitted, 60.0)
    return {
        "capacity_per_s": round(capacity),
        "rate_per_s": round(rate),
        "tasks": producer.submitted,
        "first": samples[0],
        "middle": samples[len(samples) // 2],
        "last": samples[-1],
        "minutes": samples,
        "holds": _holds(samples, rate, scale.retention),
    }


class Producer:
    """Submits at a steady rate, and makes up for what a slow second held back."""

    def __init__(self, engine: Engine, rate: float) -> None:
        self._engine = engine
        self._rate = rate
        self._requests = requests_for([None] * BATCH)
        self.submitted = 0
        self.is_over = False

    async def run(self) -> None:
        """Submit until it is over."""
        last, owed = time.monotonic(), 0.0
        while not self.is_over:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            owed = min(owed + (now - last) * self._rate, MOST_WAITING)
            last = now
            count = int(owed)
            owed -= count
            sizes = [min(BATCH, count - begun) for begun in range(0, count, BATCH)]
            await asyncio.gather(*[self._engine.submissions.submit_many(self._requests[:size]) for size in sizes])
            self.submitted += count


async def _capacity(engine: Engine, crew: Crew) -> float:
    """Return how many tasks a second come through from end to end."""
    requests = requests_for([None] * BATCH)
    submitted = 0
    began = time.monotonic() + 5.0
    first = 0
    while time.monotonic() < began + MEASURE_SECONDS:
        if submitted - crew.completed() > MOST_WAITING:
            await asyncio.sleep(0.01)
            continue
        if not first and time.monotonic() >= began:
            first, began = crew.completed(), time.monotonic()
        await engine.submissions.submit_many(requests)
        submitted += BATCH
    rate = (crew.completed() - first) / (time.monotonic() - began)
    await asyncio.to_thread(crew.await_completed, submitted)
    return rate


def _pids(system: System, crew: Crew) -> dict[str, int]:
    workers = {f"worker_{number}": pid for number, pid in enumerate(crew.workers)}
    redis_pid = {} if system.broker is None else {"redis": system.broker.pid}
    return workers | redis_pid | {"scheduler": crew.scheduler, "producer": os.getpid(), "postgres": system.server.pid}


def _sample(system: System, pids: dict[str, int]) -> dict[str, Any]:
    tables = {}
    for line in system.execute(STATS).splitlines():
        name, live, dead, vacuums, size = line.split("|")
        tables[name] = {"live": int(live), "dead": int(dead), "autovacuums": int(vacuums), "kb": int(size)}
    memory = {name: private_mb(pid) for name, pid in pids.items() if name != "postgres"}
    memory["postgres"] = round(sum(private_mb(pid) for pid in tree_of(pids["postgres"])), 1)
    return {"tables": tables, "memory_mb": memory}


def _holds(samples: list[dict[str, Any]], rate: float, retention: float) -> dict[str, bool]:
    """Compare the first half of the time in which as much leaves as comes with the second.

    By their medians: between two vacuums dead rows and sizes go up and down, a checkpoint holds everybody up for a
    moment, and a sample meets them anywhere.
    """
    filling = 2 + round((retention + READ_SECONDS) / 60) if retention else 1
    rest = samples[min(filling, len(samples) - 2) :]
    growing = () if retention else KEPT
    early, late = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    hot = [name for name in samples[-1]["tables"] if name not in growing]
    costs = [median([each["postgres_us"] for each in half]) for half in (early, late)]

    def is_flat(group: str, name: str, field: str | None, slack: float) -> bool:
        usual = [median([_value(each[group][name], field) for each in half]) for half in (early, late)]
        return usual[1] <= usual[0] * 1.1 + slack

    return {
        "throughput_is_flat": all(sample["per_s"] >= rate * 0.95 for sample in samples[1:]),
        "backlog_is_flat": median([sample["backlog"] for sample in late]) < MOST_WAITING,
        "cost_is_flat": costs[1] <= 1.1 * costs[0],
        **{f"size_of_{name}_is_flat": is_flat("tables", name, "kb", SIZE_SLACK_KB) for name in hot},
        **{f"dead_rows_of_{name}_are_flat": is_flat("tables", name, "dead", 1000) for name in hot},
        **{f"memory_of_{name}_is_flat": is_flat("memory_mb", name, None, 5) for name in samples[-1]["memory_mb"]},
    }


def _value(measured: Any, field: str | None) -> float:
    return float(measured if field is None else measured[field])
