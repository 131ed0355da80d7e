"""Two thousand remote workers on a few database connections: long polls and beats hold, and tasks reach them."""

import asyncio
import re
import resource
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import asyncpg
import uvloop

from bench.scale.fleet_worker import Fleet
from bench.scale.meter import cpu_seconds, percentiles, private_mb
from bench.scale.rack import Scale, System, wait_until
from bench.scale.report import say
from bench.services import postgres, redis

WORKERS: Final = 2000
SERVERS: Final = 2
RATE: Final = 200
IDLE_SECONDS, BUSY_SECONDS = 15.0, 60.0
KEY: Final = "sk_bench_of_the_fleet"
FILES: Final = 20_000
_URL = re.compile(r" on http://127\.0\.0\.1:(\d+)")


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, FILES), hard))
    with postgres() as server, redis() as broker, ExitStack() as stack:
        system = System(name="fleet", server=server, broker=broker)
        system.create()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-fleet-")))
        logs = [folder / f"api-{number}" for number in range(SERVERS)]
        words = ["--data", str(folder)]
        apis = [
            stack.enter_context(system.process("api", "--port", "0", *words, log=log, DRUMLINE_API_KEY=KEY)).pid
            for log in logs
        ]
        scheduler = stack.enter_context(system.process("scheduler", *words, log=folder / "scheduler")).pid
        wait_until(lambda: all(_URL.search(log.read_text()) for log in logs), 30, "the servers do not start")
        ports = [int(match[1]) for log in logs if (match := _URL.search(log.read_text()))]
        pids = {f"api_{number}": pid for number, pid in enumerate(apis)} | {"scheduler": scheduler}
        pids |= {"postgres": server.pid, "redis": broker.pid}
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            result = runner.run(_measure(scale, system, ports, pids))
        warnings = [line for log in folder.iterdir() if log.is_file() for line in log.read_text().splitlines()]
        result["log"] = [line[:300] for line in warnings if "rror" in line or "arning" in line or "reaped" in line][:10]
    return result


async def _measure(scale: Scale, system: System, ports: list[int], pids: dict[str, int]) -> dict[str, Any]:
    fleet = Fleet(ports, KEY)
    watch = await asyncpg.connect(system.store_url)
    count = scale.of(WORKERS)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await fleet.open(count)
    opened = loop.time() - began
    say(f"{count:,} sessions opened in {opened:.1f} s")
    async with asyncio.TaskGroup() as group:
        working = group.create_task(fleet.work())
        await asyncio.sleep(5)
        idle = await _window(pids, _connections(watch, IDLE_SECONDS), IDLE_SECONDS)
        say(f"idle: {idle}")
        busy_seconds = BUSY_SECONDS / 3 if scale.quick else BUSY_SECONDS
        group.create_task(fleet.submit(RATE, busy_seconds))
        busy = await _window(pids, _connections(watch, busy_seconds), busy_seconds)
        say(f"busy: {busy}")
        is_done = await fleet.all_done(20.0)
        working.cancel()
    open_sessions = await watch.fetchval("SELECT count(*) FROM drumline.session WHERE closed_at IS NULL")
    dead = await watch.fetchval("SELECT count(*) FROM drumline.session WHERE is_dead")
    left = await watch.fetchval("SELECT count(*) FROM drumline.task_live")
    doubled = await watch.fetchval("SELECT count(*) - count(DISTINCT task_id) FROM drumline.attempt")
    await watch.close()
    say("closing")
    await fleet.close()
    troubles = fleet.troubles
    memory = {name: private_mb(pid) for name, pid in pids.items()}
    return {
        "workers": count, "open_seconds": round(opened, 1), "submitted": fleet.submitted, "done": fleet.done,
        "idle": idle, "busy": busy, "claim_ms": percentiles(fleet.latencies), "beat_ms": percentiles(fleet.beats),
        "memory_mb": memory, "sessions_open": open_sessions, "sessions_reaped": dead, "run_twice": doubled,
        "troubles": troubles,
        "holds": {
            "none_lost": open_sessions == count and dead == 0 and not troubles,
            "all_done": is_done and left == 0 and fleet.done == fleet.submitted,
            "few_connections": max(idle["connections"], busy["connections"]) < 50,
        },
    }  # fmt: skip


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
