"""Measure the embedded mode: engine, SQLite with full durability and a worker, in one process."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bench.services import resident_mb
from drumline.core.errors import Fenced
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.lifecycle.processes import run
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.sdk.app import Drumline
from drumline.settings import Settings
from drumline.wiring import open_engine
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

CAPACITY = 500
BULK = 1000
RATE = 100
IDLE_SECONDS = 5.0

app = Drumline("bench")
_delays: list[float] = []


@app.task(name="noop")
async def noop(sent_ns: int) -> None:
    """Do nothing but keep the delay."""
    if sent_ns:
        _delays.append((time.time_ns() - sent_ns) / 1e6)


class Counting(LocalGateway):
    """Counts tasks whose settlement is committed, and tells when there are enough."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.completed = 0
        self.wanted = 0
        self.enough = asyncio.Event()

    async def settle(self, reports: Any) -> list[State | Fenced]:
        """Settle, then count."""
        answers = await super().settle(reports)
        self.completed += len(answers)
        if self.completed >= self.wanted:
            self.enough.set()
        return answers


def measure_embedded(share: float = 1.0) -> dict[str, Any]:
    """Return what one process does on SQLite: rates per second, latencies in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="drumline-bench-") as folder:
        results: dict[str, Any] = {}
        run(_measure(Path(folder) / "work", share, results))
        return results | _measure_idle(Path(folder) / "idle")


async def _measure(data: Path, share: float, results: dict[str, Any]) -> None:
    engine = await open_engine(Settings(data=data))
    gateway = Counting(engine)
    count = int(100_000 * share)
    results["enqueue_per_s"] = await _rate(_submit_singly, engine, int(3_000 * share))
    results["enqueue_concurrent_per_s"] = await _rate(_submit_at_once, engine, int(30_000 * share))
    results["enqueue_bulk_per_s"] = await _rate(_submit_in_bulk, engine, count)
    gateway.wanted = int(3_000 * share) + int(30_000 * share) + count // BULK * BULK
    stop = asyncio.Event()
    worker = assemble_worker(
        gateway, [app], WorkerOptions(capacity=CAPACITY, grace=1.0), BuiltIn(http=False, pdf=False)
    )
    began = time.perf_counter()
    working = asyncio.create_task(worker.run(stop), name="worker")
    await gateway.enough.wait()
    results["drain_per_s"] = round(gateway.wanted / (time.perf_counter() - began), 1)
    results["start_latency_ms"] = await _latency(engine, int(1_000 * share))
    stop.set()
    await working
    await engine.close()


async def _rate(submit: Callable[[Engine, int], Coroutine[Any, Any, None]], engine: Engine, count: int) -> float:
    began = time.perf_counter()
    await submit(engine, count)
    return round(count / (time.perf_counter() - began), 1)


async def _submit_singly(engine: Engine, count: int) -> None:
    for _ in range(count):
        await engine.submissions.submit(noop.call(0).request)


async def _submit_at_once(engine: Engine, count: int) -> None:
    for _ in range(0, count, BULK):
        await asyncio.gather(*(engine.submissions.submit(noop.call(0).request) for _ in range(BULK)))


async def _submit_in_bulk(engine: Engine, count: int) -> None:
    for _ in range(0, count, BULK):
        await engine.submissions.submit_many([noop.call(0).request for _ in range(BULK)])


async def _latency(engine: Engine, count: int) -> dict[str, float]:
    """Submit at a steady rate; return how long after its submission a task began."""
    _delays.clear()
    began = time.perf_counter()
    for turn in range(count):
        await asyncio.sleep(max(0.0, began + turn / RATE - time.perf_counter()))
        await engine.submissions.submit(noop.call(time.time_ns()).request)
    while len(_delays) < count:  # noqa: ASYNC110 - a bench, not a test
        await asyncio.sleep(0.01)
    ordered = sorted(_delays)
    shares = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
    return {name: round(ordered[int(share * (len(ordered) - 1))], 2) for name, share in shares.items()}


def _measure_idle(data: Path) -> dict[str, Any]:
    """Run a worker that has nothing to do, and look at it."""
    command = [str(Path(sys.prefix) / "bin" / "drumline"), "worker"]
    worker = subprocess.Popen(
        command, env=os.environ | {"DRUMLINE_DATA": str(data)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(3.0)
        before = _cpu_seconds(worker.pid)
        time.sleep(IDLE_SECONDS)
        busy = (_cpu_seconds(worker.pid) - before) / IDLE_SECONDS
        return {"idle_rss_mb": resident_mb(worker.pid), "idle_cpu_percent": round(100 * busy, 2)}
    finally:
        worker.terminate()
        worker.wait(30)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
