"""Half a million tasks for later, or `--tasks`: Redis never hears of them, nothing slows down, none begins late."""

import asyncio
import random
import time
from typing import Any, Final

from bench.scale.compare import compare
from bench.scale.meter import percentiles
from bench.scale.rack import Scale, System, schedule
from bench.scale.report import say
from bench.services import Redis, postgres, redis

COUNT: Final = 500_000
SOONEST, LATEST = 15 * 60.0, 8 * 3600.0
SUBMITTED: Final = 5_000
"""Tasks a second that are surely submitted: none may be due before the last is measured."""
RATE: Final = 100
SECONDS: Final = 30
BEYOND: Final = 400.0
"""Later than a push offers: tasks due then are brought to Redis by the sweep, as time goes on."""
ON_TIME_MS: Final = 50
FORGOTTEN: Final = 65.0
"""After so many seconds the read model has forgotten tasks that nobody runs."""


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    with postgres() as server, redis() as one, redis() as other:
        empty = System(name="empty", server=server, broker=one)
        full = System(name="full", server=server, broker=other)
        empty.create()
        full.create()
        swept_from = time.time() + BEYOND + _count(scale) / (2 * SUBMITTED)
        memory = _fill(full, other, scale, swept_from)
        speed = compare(empty, full, rounds=4 if scale.quick else 6, tasks=60_000 if scale.quick else 100_000)
        pushed = _lateness(full, time.time() + 5, submit=True)
        say(f"lateness of tasks that were offered when submitted: {pushed}")
        swept = {} if scale.quick else _lateness(full, swept_from, submit=False)
    lateness = {"pushed_ms": pushed, "swept_ms": swept}
    count = _count(scale)
    holds = _holds(count, memory, speed, lateness)
    return {"tasks": count, "redis": memory, **speed, **lateness, "holds": holds}


def _fill(system: System, broker: Redis, scale: Scale, swept_from: float) -> dict[str, Any]:
    before = _memory(broker)
    count = _count(scale)
    soonest = SOONEST + count / SUBMITTED
    say(f"scheduling {count:,} tasks")
    chance = random.Random(7)
    began = time.perf_counter()
    asyncio.run(_schedule(system, [time.time() + chance.uniform(soonest, soonest + LATEST) for _ in range(count)]))
    seconds = time.perf_counter() - began
    after = _memory(broker)
    say(f"{count / seconds:,.0f} a second; Redis had {before}, now {after}; waiting for the read model to forget")
    time.sleep(FORGOTTEN)
    settled = _memory(broker)
    asyncio.run(_schedule(system, _dues(swept_from)))
    return {"schedule_per_s": round(count / seconds), "before": before, "after": after, "settled": settled}


def _count(scale: Scale) -> int:
    return scale.of(COUNT) if scale.tasks is None else scale.tasks


async def _schedule(system: System, dues: list[float]) -> None:
    async with system.engine() as engine:
        await schedule(engine, dues)


def _dues(begin: float) -> list[float]:
    return [begin + number / RATE for number in range(RATE * SECONDS)]


def _lateness(system: System, begin: float, *, submit: bool) -> dict[str, float]:
    """Let workers wait for tasks, a hundred due each second, and return how late those began."""
    with system.workers() as crew:
        if submit:
            asyncio.run(_schedule(system, _dues(begin)))
        else:
            say(f"waiting {begin - time.time():.0f} s for tasks that only the sweep knows of")
        time.sleep(max(0.0, begin - time.time()))
        crew.await_completed(RATE * SECONDS, SECONDS + 30)
        return percentiles(crew.delays())


def _memory(broker: Redis) -> dict[str, int]:
    lines = dict(line.split(":", 1) for line in broker.execute("INFO memory").splitlines() if ":" in line)
    keys = broker.execute("DBSIZE").splitlines()[0].lstrip(":")
    return {"used_kb": int(lines["used_memory"]) // 1024, "keys": int(keys)}


def _holds(
    count: int, memory: dict[str, Any], speed: dict[str, Any], lateness: dict[str, dict[str, float]]
) -> dict[str, bool]:
    grown = memory["settled"]["used_kb"] - memory["before"]["used_kb"]
    return {
        # Not one byte for each: the read model has the few that it was told of while it could keep up.
        "redis_does_not_grow": grown < max(1024, count / 1024),
        "submit_within_10_percent": speed["submit"]["speed_ratio"] >= 0.9,
        "drain_within_10_percent": speed["drain"]["speed_ratio"] >= 0.9,
        "on_time": all(late["p99"] <= ON_TIME_MS for late in lateness.values() if late),
    }
