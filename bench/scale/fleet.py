"""Thousands of remote workers on a few database connections: long polls and beats hold, and tasks reach them.

A claim is measured from before the submission is sent until a worker has the task. Everything is on one machine: the
simulated workers, whose share is told, the API servers, PostgreSQL and Redis.
"""

import asyncio
import json
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import asyncpg
import uvloop

from bench.scale.meter import cpu_seconds, percentiles, private_mb
from bench.scale.rack import ROOT, Scale, System, wait_until
from bench.scale.report import say
from bench.scale.wire import Refused, Wire
from bench.services import postgres, redis
from drumline.core.attempt import AttemptOutcome

WORKERS: Final = 2000
SERVERS: Final = 2
MOST_PER_PROCESS: Final = 4000
"""Workers in one process: each has two connections, and a process has a limit of files."""
RATE: Final = 200.0
"""Tasks a second: as many as two cores carry besides the heartbeats and long polls of 10,000 workers."""
SUBMITTING: Final = 16
"""Connections that tasks are submitted on."""
SETTLED_SECONDS, IDLE_SECONDS, BUSY_SECONDS = 10.0, 15.0, 60.0
COMPLETED: Final = AttemptOutcome.COMPLETED
LINE_BYTES: Final = 1 << 28
KEY: Final = "sk_bench_the_quick_brown_fox_jumps_over_ten_thousand_workers"
"""Long enough to be taken for strong: a key that can be guessed is checked anew with every request."""
_URL = re.compile(r" on http://127\.0\.0\.1:(\d+)")
_WORDS = ("rror", "arning", "reaped", "refused")


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    servers, workers = scale.servers or SERVERS, scale.of(scale.workers or WORKERS)
    # Every worker has two connections, and here all come from one address.
    most = {"DRUMLINE_HTTP_CONNECTIONS": "19000", "DRUMLINE_HTTP_CONNECTIONS_PER_ADDRESS": "19000"}
    with postgres() as server, redis() as broker, ExitStack() as stack:
        system = System(name="fleet", server=server, broker=broker)
        system.create()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-fleet-")))
        logs = [folder / f"api-{number}" for number in range(servers)]
        words = ["--data", str(folder)]
        apis = [
            stack.enter_context(system.process("api", "--port", "0", *words, log=log, DRUMLINE_API_KEY=KEY, **most)).pid
            for log in logs
        ]
        scheduler = stack.enter_context(system.process("scheduler", *words, log=folder / "scheduler")).pid
        wait_until(lambda: all(_URL.search(log.read_text()) for log in logs), 60, "the servers do not start")
        ports = [int(match[1]) for log in logs if (match := _URL.search(log.read_text()))]
        pids = {f"api_{number}": pid for number, pid in enumerate(apis)} | {"scheduler": scheduler}
        pids |= {"postgres": server.pid, "redis": broker.pid}
        plan = Plan(workers, ports, pids, _seconds(scale), scale.rate or RATE)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            result = runner.run(_measure(plan, system))
        lines = [line for log in folder.iterdir() if log.is_file() for line in log.read_text().splitlines()]
        result["log"] = [line[:300] for line in lines if any(word in line for word in _WORDS)][:10]
    return result


@dataclass(frozen=True)
class Plan:
    """How many workers, at which servers, and for how long they get how many tasks a second."""

    workers: int
    ports: list[int]
    pids: dict[str, int]
    busy_seconds: float
    rate: float


@dataclass
class Part:
    """A process that has some of the workers."""

    process: asyncio.subprocess.Process

    @classmethod
    async def start(cls, plan: Plan, first: int, count: int) -> "Part":
        """Start it, and wait until its workers are registered."""
        ports = ",".join(map(str, plan.ports))
        command = [sys.executable, "-m", "bench.scale.fleet_worker", ports, KEY, str(first), str(count)]
        pipe = asyncio.subprocess.PIPE
        part = cls(await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe, limit=LINE_BYTES))
        if await part.told() != "opened":
            raise RuntimeError("the workers could not register")
        return part

    async def ask(self, command: str) -> Any:
        """Have it work, count or leave, and return what it tells."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())
        return await self.told()

    async def told(self) -> Any:
        """Return what it tells next."""
        assert self.process.stdout is not None
        return json.loads(await self.process.stdout.readline())


class Submitter:
    """Submits tasks one by one; what went wrong is counted in `troubles`."""

    def __init__(self, ports: list[int]) -> None:
        self._wires = [Wire(ports[number % len(ports)], KEY) for number in range(SUBMITTING)]
        self.troubles: Counter[str] = Counter()
        self.submitted = 0

    async def run(self, rate: float, seconds: float) -> None:
        """Submit tasks at a steady rate, however long the answers take."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        under_way: set[asyncio.Task[None]] = set()
        for turn in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, began + turn / rate - loop.time()))
            sending = asyncio.create_task(self._submit(self._wires[turn % SUBMITTING], time.time_ns()))
            under_way.add(sending)
            sending.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)
        for wire in self._wires:
            wire.close()

    async def _submit(self, wire: Wire, sent_ns: int) -> None:
        try:
            await wire.ask("POST", "/api/v1/tasks", {"name": "noop", "payload": {"sent_ns": sent_ns}})
        except (OSError, EOFError, Refused) as error:
            self.troubles[f"submit: {type(error).__name__} {error}"[:120]] += 1
        else:
            self.submitted += 1


async def _start_parts(plan: Plan) -> list[Part]:
    count = -(-plan.workers // MOST_PER_PROCESS)
    bounds = [plan.workers * n // count for n in range(count + 1)]
    starts = [Part.start(plan, first, end - first) for first, end in pairwise(bounds)]
    return list(await asyncio.gather(*starts))


async def _measure(plan: Plan, system: System) -> dict[str, Any]:
    watch = await asyncpg.connect(system.store_url)
    began = time.monotonic()
    parts = await _start_parts(plan)
    opened = time.monotonic() - began
    say(f"{plan.workers:,} sessions opened in {opened:.1f} s")
    for part in parts:
        await part.ask("work")
    await asyncio.sleep(SETTLED_SECONDS)
    meter = Meter(plan, parts, watch)
    idle = await meter.window(IDLE_SECONDS)
    say(f"idle: {idle}")
    submitter = Submitter(plan.ports)
    submitting = asyncio.create_task(submitter.run(plan.rate, plan.busy_seconds))
    busy = await meter.window(plan.busy_seconds)
    say(f"busy: {busy}")
    await submitting
    left = await _left(watch, 20.0)
    memory = {name: private_mb(pid) for name, pid in plan.pids.items()}
    open_sessions = await watch.fetchval("SELECT count(*) FROM drumline.session WHERE closed_at IS NULL")
    dead = await watch.fetchval("SELECT count(*) FROM drumline.session WHERE is_dead")
    doubled = await watch.fetchval(
        "SELECT count(*) - count(DISTINCT task_id) FROM drumline.attempt WHERE outcome = $1", COMPLETED
    )
    await watch.close()
    say("closing")
    told = await asyncio.gather(*(part.ask("leave") for part in parts))
    await asyncio.gather(*(part.process.wait() for part in parts))
    troubles = sum((Counter(each["troubles"]) for each in told), Counter(submitter.troubles))
    done = sum(each["done"] for each in told)
    claims = percentiles([ms for each in told for ms in each["latencies"]])
    apis = [mb for name, mb in memory.items() if name.startswith("api")]
    return {
        "workers": plan.workers, "servers": len(plan.ports), "tasks_per_second": plan.rate,
        "open_seconds": round(opened, 1), "opened_again": sum(each["refused"] for each in told),
        "submitted": submitter.submitted, "done": done,
        "idle": idle, "busy": busy, "claim_ms": claims, "beat_ms": percentiles(
            [ms for each in told for ms in each["beats"]]
        ),
        "memory_mb": memory, "sessions_open": open_sessions, "sessions_reaped": dead, "run_twice": doubled,
        "troubles": troubles,
        "holds": {
            "none_lost": open_sessions == plan.workers and dead == 0 and not troubles,
            "all_done": left == 0 and done == submitter.submitted,
            "few_connections": max(idle["connections"], busy["connections"]) < 100,
            "quick": bool(claims) and claims["p99"] <= 100,
            "small": max(apis) <= 1536,
        },
    }  # fmt: skip


async def _left(watch: "asyncpg.Connection[asyncpg.Record]", seconds: float) -> int:
    """Wait until all tasks have ended, at most this long; return how many have not."""
    deadline = time.monotonic() + seconds
    while (left := await watch.fetchval("SELECT count(*) FROM drumline.task_live")) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.2)
    return int(left)


def _seconds(scale: Scale) -> float:
    seconds = scale.seconds or BUSY_SECONDS
    return seconds / 3 if scale.quick else seconds


@dataclass
class Meter:
    """Measures what a stretch of time costs."""

    plan: Plan
    parts: list[Part]
    watch: "asyncpg.Connection[asyncpg.Record]"

    async def window(self, seconds: float) -> dict[str, float]:
        """Return how many percent of a core each process used, the most connections seen, and what a request cost."""
        began, before, counted = time.monotonic(), self._spent(), await self._counts()
        most = await self._connections(seconds)
        after, counts, took = self._spent(), await self._counts(), time.monotonic() - began
        used = {name: after[name] - spent for name, spent in before.items()}
        # A task is a submission and a settlement besides the long poll that brings it.
        requests = {name: counts[name] - counted[name] for name in ("beats", "polls", "done")}
        asked = requests["beats"] + requests["polls"] + 2 * requests["done"]
        servers = sum(spent for name, spent in used.items() if name.startswith("api"))
        fleet = sum(spent for name, spent in used.items() if name.startswith("fleet"))
        return {
            "connections": most,
            **{f"{name}_cpu_percent": round(spent / took * 100, 1) for name, spent in used.items()},
            **{f"{name}_per_s": round(count / took, 1) for name, count in requests.items()},
            "server_us_per_request": round(servers / asked * 1e6),
            "fleet_us_per_request": round(fleet / asked * 1e6),
        }

    def _spent(self) -> dict[str, float]:
        pids = self.plan.pids | {f"fleet_{number}": part.process.pid for number, part in enumerate(self.parts)}
        return {name: cpu_seconds([pid]) for name, pid in pids.items()} | {"submitter": time.process_time()}

    async def _counts(self) -> Counter[str]:
        told = await asyncio.gather(*(part.ask("count") for part in self.parts))
        return sum((Counter(each) for each in told), Counter())

    async def _connections(self, seconds: float) -> int:
        most = 0
        for _ in range(round(seconds)):
            await asyncio.sleep(1)
            most = max(
                most,
                await self.watch.fetchval(
                    "SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"
                ),
            )
        return most
