"""One, two and four databases: what a task costs, how soon a lone one begins, and that no shard waits for another.

All servers share the cores of one machine, so four are no faster than one: the processor time per task is compared. To
see that nothing is serialised across shards, every commit is then delayed alike, so that databases are the bottleneck.
"""

import asyncio
import time
from collections import Counter
from typing import Any, Final

from msgspec import Raw

from bench.scale.meter import median, percentiles
from bench.scale.rack import (
    LIMIT_SECONDS,
    WORKERS,
    Crew,
    Scale,
    Window,
    drain,
    requests_for,
    submit,
    wait_until,
)
from bench.scale.report import say
from bench.scale.sharded import Place, Sharded, places
from drumline.core.errors import Unavailable
from drumline.core.task import TaskRequest

COUNTS: Final = (1, 2, 4)
TASKS: Final = 200_000
"""Of which a fifth warms up: each process opens connections to every shard, and each of these plans its statements."""
LONE: Final = 300
LONE_RATE: Final = 50.0
DELAY: Final = 0.5
"""Seconds before each commit, when commits are delayed."""
OUTSTANDING: Final = 20_000
SLOW_SECONDS: Final = 20.0
WARM_SECONDS: Final = 4.0

DELAYED: Final = f"""
CREATE FUNCTION drumline.bench_delay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('bench.delayed', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
        PERFORM set_config('bench.delayed', pg_current_xact_id()::text, true), pg_sleep({DELAY});
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER bench_delay AFTER INSERT ON drumline.task_live
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION drumline.bench_delay();
"""  # a deferred trigger runs before the commit; it sleeps for the first row of a transaction


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    rounds, tasks = (2, TASKS // 5) if scale.quick else (5, TASKS)
    with places(max(COUNTS)) as found:
        systems = {count: _system(count, [place.for_system(count) for place in found[:count]]) for count in COUNTS}
        for system in systems.values():
            system.create()
            system.spread()
        costs = _costs(systems, rounds, tasks)
        lone = _lones(systems, 2 if scale.quick else 4)
        say(f"lone tasks: {lone}")
        slow = {
            count: _slow(system, SLOW_SECONDS / 2 if scale.quick else SLOW_SECONDS) for count, system in systems.items()
        }
        say(f"with {DELAY} s before each commit: {slow}")
    return _result(costs, lone, slow)


def _system(count: int, found: list[Place]) -> Sharded:
    first, *others = found
    return Sharded(name=f"shards_{count}", server=first.server, broker=first.broker, others=tuple(others))


def _costs(systems: dict[int, Sharded], rounds: int, tasks: int) -> dict[int, list[float]]:
    """Submit and drain on each in turn, there and back; return microseconds of processor time per task."""
    taken: dict[int, list[float]] = {count: [] for count in systems}
    for number in range(rounds):
        for count in systems if number % 2 == 0 else reversed(systems):
            system = systems[count]
            system.settle_down()
            submitted = submit(system, tasks, warm=tasks // 5)
            drained = drain(system, tasks, warm=tasks // 5)
            taken[count].append(round(submitted["all_us"] + drained["all_us"], 1))
            say(f"{count} shards: submit {submitted}, drain {drained}")
    return taken


def _lones(systems: dict[int, Sharded], rounds: int) -> dict[int, dict[str, float]]:
    """Let lone tasks begin on each in turn, there and back; return the medians of the rounds."""
    taken: dict[int, list[dict[str, float]]] = {count: [] for count in systems}
    for number in range(rounds):
        for count in systems if number % 2 == 0 else reversed(systems):
            taken[count].append(_lone(systems[count]))
    return {count: _medians(found) for count, found in taken.items()}


def _medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {word: median([each[word] for each in found]) for word in found[0]}


def _lone(system: Sharded) -> dict[str, float]:
    """Return after how many milliseconds lone tasks begin while workers wait."""
    system.settle_down()
    with system.workers() as crew:
        asyncio.run(_paced(system, crew))
        wait_until(lambda: len(crew.delays()) >= LONE, LIMIT_SECONDS, "lone tasks were not run")
        return percentiles(crew.delays())


async def _paced(system: Sharded, crew: Crew) -> None:
    async with system.engine() as engine:
        while sum(count > 0 for count in crew.counts()) < WORKERS:  # until all of them are at work
            await engine.submissions.submit_many(requests_for([None] * 100))
            await asyncio.sleep(0.5)
        await asyncio.sleep(WARM_SECONDS)
        for _ in range(LONE):
            await asyncio.sleep(1 / LONE_RATE)
            payload = Raw(b'{"sent_ns":%d}' % time.time_ns())
            await engine.submissions.submit(TaskRequest(name="noop", payload=payload))


def _slow(system: Sharded, seconds: float) -> dict[str, float]:
    """Return how many submissions are acknowledged in a second while each commit takes its time."""
    system.execute_all(DELAYED)
    try:
        return asyncio.run(_submit_slowly(system, seconds))
    finally:
        system.execute_all("DROP FUNCTION drumline.bench_delay CASCADE")


async def _submit_slowly(system: Sharded, seconds: float) -> dict[str, float]:
    stored = 0
    refused: Counter[str] = Counter()
    is_over = False
    async with system.engine() as engine:

        async def client() -> None:
            nonlocal stored
            while not is_over:
                try:
                    await engine.submissions.submit(request)
                except Unavailable as error:  # a loop that is busy with so many clients may miss a deadline
                    refused[str(error)[:80]] += 1
                    await asyncio.sleep(0.1)
                else:
                    stored += 1

        (request,) = requests_for([None])
        await engine.submissions.submit(request)  # opens connections, and looks up what is cached from then on
        clients = [asyncio.create_task(client(), name="client") for _ in range(OUTSTANDING)]
        await asyncio.sleep(WARM_SECONDS)
        first, window = stored, Window(pids=system.pids(), has_own=True)
        await asyncio.sleep(seconds)
        result = window.end(stored - first)
        is_over = True
        await asyncio.gather(*clients)
    if refused:
        say(f"refused: {dict(refused.most_common(3))}")
    return result


def _result(
    costs: dict[int, list[float]], lone: dict[int, dict[str, float]], slow: dict[int, dict[str, float]]
) -> dict[str, Any]:
    cost = {count: median(taken) for count, taken in costs.items()}
    ratio = median([four / one for one, four in zip(costs[1], costs[4], strict=True)])
    lone_ratio = lone[4]["p50"] / lone[1]["p50"]
    speed_up = slow[4]["per_s"] / slow[1]["per_s"]
    return {
        "us_per_task": cost,
        "cost_ratio": round(ratio, 3),
        "cost_ratios": [round(four / one, 3) for one, four in zip(costs[1], costs[4], strict=True)],
        "lone_ms": lone,
        "lone_p50_ratio": round(lone_ratio, 3),
        "delayed": slow,
        "delayed_speed_up": round(speed_up, 2),
        "holds": {
            "cost_within_15_percent": ratio <= 1.15,
            "lone_within_20_percent": lone_ratio <= 1.2,
            "delayed_3_5_times": speed_up >= 3.5,
        },
    }
