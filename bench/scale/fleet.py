"""Thousands of remote workers on a few database connections: long polls and beats hold, and tasks reach them."""

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

from bench.scale.fleet_worker import Fleet
from bench.scale.meter import cpu_seconds, percentiles, private_mb
from bench.scale.rack import ROOT, Scale, System, wait_until
from bench.scale.report import say
from bench.services import postgres, redis
from drumline.core.attempt import AttemptOutcome

WORKERS: Final = 2000
SERVERS: Final = 2
MOST_PER_PROCESS: Final = 4000
"""Workers in one process: each has two connections, and a process has a limit of files."""
RATE: Final = 200
IDLE_SECONDS, BUSY_SECONDS = 15.0, 60.0
COMPLETED: Final = AttemptOutcome.COMPLETED
LINE_BYTES: Final = 1 << 28
KEY: Final = "sk_bench_of_the_fleet"
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
        plan = Plan(workers, ports, pids, _seconds(scale))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            result = runner.run(_measure(plan, system))
        lines = [line for log in folder.iterdir() if log.is_file() for line in log.read_text().splitlines()]
        result["log"] = [line[:300] for line in lines if any(word in line for word in _WORDS)][:10]
    return result


@dataclass(frozen=True)
class Plan:
    """How many workers, at which servers, and for how long they are busy."""

    workers: int
    ports: list[int]
    pids: dict[str, int]
    busy_seconds: float


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
        if await part.told() != b"opened\n":
            raise RuntimeError("the workers could not register")
        return part

    def tell(self) -> None:
        """Let it go on to its next step: work, then leave."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go on\n")

    async def told(self) -> bytes:
        """Return the next line that it writes."""
        assert self.process.stdout is not None
        return await self.process.stdout.readline()


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
    pids = plan.pids | {f"fleet_{number}": part.process.pid for number, part in enumerate(parts)}
    for part in parts:
        part.tell()
    await asyncio.sleep(10)
    idle = await _window(pids, _connections(watch, IDLE_SECONDS), IDLE_SECONDS)
    say(f"idle: {idle}")
    submitter = Fleet(plan.ports, KEY)
    submitting = asyncio.create_task(submitter.submit(RATE, plan.busy_seconds))
    busy = await _window(pids, _connections(watch, plan.busy_seconds), plan.busy_seconds)
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
    for part in parts:
        part.tell()
    told = [json.loads(await part.told()) for part in parts]
    await asyncio.gather(*(part.process.wait() for part in parts))
    troubles = sum((Counter(each["troubles"]) for each in told), Counter(submitter.troubles))
    done = sum(each["done"] for each in told)
    claims = percentiles([ms for each in told for ms in each["latencies"]])
    apis = [mb for name, mb in memory.items() if name.startswith("api")]
    return {
        "workers": plan.workers, "servers": len(plan.ports), "open_seconds": round(opened, 1),
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


async def _window(pids: dict[str, int], connections: Any, seconds: float) -> dict[str, float]:
    """Return how many percent of a core each process used meanwhile, and the most connections seen."""
    before = {name: cpu_seconds([pid]) for name, pid in pids.items()} | {"fleet": time.process_time()}
    most = await connections
    after = {name: cpu_seconds([pid]) for name, pid in pids.items()} | {"fleet": time.process_time()}
    used = {f"{name}_cpu_percent": round((after[name] - spent) / seconds * 100, 1) for name, spent in before.items()}
    return {"connections": most, **used}


async def _connections(watch: "asyncpg.Connection[asyncpg.Record]", seconds: float) -> int:
    most = 0
    for _ in range(round(seconds)):
        await asyncio.sleep(1)
        most = max(
            most,
            await watch.fetchval("SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"),
        )
    return most
