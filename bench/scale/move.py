"""From one database to four and back to three, under load: how long submissions take, and that nothing is lost.

Clients submit through two API servers, every other task with an idempotency key, which is sent twice. Two workers run
what comes. Meanwhile three databases are added and given slots, and later one of them is drained and removed.
"""

import asyncio
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

from bench.scale.meter import percentiles
from bench.scale.rack import WORKERS, Scale, wait_until
from bench.scale.report import say
from bench.scale.sharded import KEY, Api, Place, Sharded, places
from bench.scale.wire import Refused, Wire
from drumline.core.attempt import AttemptOutcome

APP: Final = Path(__file__).parent / "noop_app.py"
CLIENTS: Final = 40
RATE: Final = 300.0
CALM_SECONDS: Final = 15.0
EMPTY_SECONDS: Final = 300.0
AGAIN_SECONDS: Final = 0.1
"""After which a refused submission is sent again."""
TRIES: Final = 100
SLOWEST_MS: Final = 250.0
COMPLETED: Final = (
    f"SELECT task_id, count(*) FROM drumline.attempt WHERE outcome = {AttemptOutcome.COMPLETED.value} GROUP BY task_id"
)


class Load:
    """Clients that submit at a steady rate, and what they were answered."""

    def __init__(self, ports: list[int]) -> None:
        self._wires = [Wire(ports[number % len(ports)], KEY) for number in range(CLIENTS)]
        self.phase = "one shard"
        self.is_over = False
        self.ids: set[str] = set()
        self.latencies: dict[str, list[float]] = {}
        self.refused: Counter[str] = Counter()
        self.given_up = 0
        self.doubled_keys = 0

    async def run(self) -> None:
        """Submit until it is over."""
        await asyncio.gather(*(self._client(number, wire) for number, wire in enumerate(self._wires)))
        for wire in self._wires:
            wire.close()

    async def _client(self, number: int, wire: Wire) -> None:
        count, next_at = 0, time.perf_counter() + number / RATE
        while not self.is_over:
            await asyncio.sleep(max(0.0, next_at - time.perf_counter()))
            next_at += CLIENTS / RATE
            count += 1
            key = f"{number}-{count}" if count % 2 else None
            first = await self._submit(wire, key)
            if key is not None and first is not None:
                again = await self._submit(wire, key)
                self.doubled_keys += again not in {first, None}

    async def _submit(self, wire: Wire, key: str | None) -> str | None:
        phase, began = self.phase, time.perf_counter()
        body = {"name": "noop", "payload": {"sent_ns": 0}} | ({} if key is None else {"idempotency_key": key})
        for _ in range(TRIES):
            try:
                answer = await wire.ask("POST", "/api/v1/tasks", body)
            except Refused as error:
                self.refused[f"{phase}: {'with' if key else 'without'} a key: {str(error)[:3]}"] += 1
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            self.latencies.setdefault(phase, []).append((time.perf_counter() - began) * 1000)
            self.ids.add(answer["id"])
            return str(answer["id"])
        self.given_up += 1
        return None


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    with places(4) as found, ExitStack() as stack:
        system = Sharded(name="moving", server=found[0].server, broker=found[0].broker, others=tuple(found[1:]))
        system.create()
        servers = [Api.start(system, stack) for _ in range(2)]
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="drumline-move-")))
        stack.enter_context(system.process("scheduler", "--data", str(folder), log=folder / "scheduler"))
        for number in range(WORKERS):
            words = ("worker", str(APP), "--concurrency", "200", "--data", str(folder))
            stack.enter_context(system.process(*words, log=folder / f"worker-{number}"))
        load = Load([urlsplit(server.url).port or 0 for server in servers])
        asyncio.run(
            _under_load(
                load, servers[0], list(system.others), CALM_SECONDS / 3 if scale.quick else CALM_SECONDS, system
            )
        )
        waiting = "SELECT count(*) FROM drumline.task_live"
        wait_until(lambda: set(system.execute_all(waiting)) == {"0"}, EMPTY_SECONDS, "tasks are left that do not run")
        return _result(load, system)


async def _under_load(load: Load, api: Api, others: list[Place], calm: float, system: Sharded) -> None:
    """Change the shards while clients submit."""
    submitting = asyncio.create_task(load.run(), name="load")
    await asyncio.sleep(calm)
    for number, place in enumerate(others, 2):
        load.phase = "adding"  # makes a database with its schema, on the same two cores
        url = await asyncio.to_thread(place.server.recreate, system.name)
        await asyncio.to_thread(api.add, f"pg{number}", place, url)
        await asyncio.sleep(calm / 3)
        load.phase = "1 to 4"
        moved = await asyncio.to_thread(api.ask, "POST", "/slots/move", {})
        say(f"pg{number} is added, {moved['slots']} slots have moved")
        await asyncio.sleep(calm / 3)
    load.phase = "four shards"
    await asyncio.sleep(calm)
    load.phase = "4 to 3"
    shard = await asyncio.to_thread(api.ask, "POST", "/shards/pg4/drain")
    deadline = time.monotonic() + EMPTY_SECONDS
    while shard["left"] or shard["slots"] or shard["unfinished"]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"pg4 does not become empty: {shard}")
        await asyncio.sleep(0.5)
        shard = await asyncio.to_thread(api.ask, "GET", "/shards/pg4")
    await asyncio.to_thread(api.ask, "DELETE", "/shards/pg4")
    say("pg4 is drained and removed")
    load.phase = "three shards"
    await asyncio.sleep(calm)
    load.is_over = True
    await submitting


def _result(load: Load, system: Sharded) -> dict[str, Any]:
    """Compare what was acknowledged with what has completed, over all databases."""
    completed: Counter[str] = Counter()
    by_shard = []
    for answer in system.execute_all(COMPLETED):
        rows = [line.split("|") for line in answer.splitlines()]
        by_shard.append(len(rows))
        for task, count in rows:
            completed[task] += int(count)
    lost = load.ids - completed.keys()
    twice = [task for task, count in completed.items() if count > 1]
    latencies = {phase: percentiles(taken) for phase, taken in load.latencies.items()}
    slowest = max(latencies[phase]["p99"] for phase in ("1 to 4", "4 to 3"))
    return {
        "submitted": len(load.ids),
        "completed_by_shard": by_shard,
        "submit_ms": latencies,
        "refused": dict(load.refused),
        "given_up": load.given_up,
        "lost": len(lost),
        "completed_twice": len(twice),
        "keys_with_two_tasks": load.doubled_keys,
        "holds": {
            "none_lost": not lost and not load.given_up,
            "none_twice": not twice and not load.doubled_keys,
            "submit_p99_while_moving": slowest <= SLOWEST_MS,
        },
    }
