"""Measure jobs against plain tasks of the same backend: a wide fan-out and fan-in, diamonds side by side, a long chain.

Shares are of the rate of plain tasks, and by processor time, which says more on a machine that does other things too. A
hop of the chain is the time from the start of a task to that of the next.

python -m bench.jobs                 SQLite, then PostgreSQL with Redis
python -m bench.jobs embedded        SQLite alone
python -m bench.jobs distributed     PostgreSQL with Redis alone
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Raw

from bench.services import postgres, redis
from drumline.core.errors import Fenced
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.lifecycle.processes import run
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.ports.gateway import Report
from drumline.scheduler.duty import Rounds
from drumline.scheduler.sweep import Sweeper
from drumline.sdk.app import Drumline
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import wire
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

TASKS = 10_000
"""Tasks of each job, and as many plain ones: the most that a job may have."""
CHAIN = 1_000
ROUNDS = 3
CAPACITY = 500
NOTHING = Raw(b"{}")

app = Drumline("bench")
_starts: list[float] = []
"""When each task began, in seconds of the monotonic clock."""


@app.task(name="noop")
async def noop() -> None:
    """Do nothing but keep the time."""
    _starts.append(time.perf_counter())


class Meter:
    """Seconds of processor that this process and the servers use: on a busy machine they say more than the clock."""

    def __init__(self, servers: Sequence[int] = ()) -> None:
        self._servers = servers

    def read(self) -> float:
        """Return the seconds used so far."""
        return time.process_time() + sum(map(_cpu_seconds, [pid for each in self._servers for pid in _family(each)]))


class Counting(LocalGateway):
    """Tells when so many tasks have been settled."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._left = 0
        self._enough = asyncio.Event()

    async def settle(self, reports: Sequence[Report]) -> list[State | Fenced]:
        """Settle, then count."""
        answers = await super().settle(reports)
        self._left -= len(answers)
        if self._left <= 0:
            self._enough.set()
        return answers

    def expect(self, count: int) -> asyncio.Event:
        """Return what is set when so many more are settled."""
        self._left = count
        self._enough = asyncio.Event()
        return self._enough


def main() -> None:
    """Measure what the command line asks for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", nargs="?", choices=["embedded", "distributed"])
    which = parser.parse_args().which
    results: dict[str, Any] = {}
    if which != "distributed":
        with tempfile.TemporaryDirectory(prefix="drumline-bench-") as folder:
            run(_measure(Settings(data=Path(folder)), Meter(), results.setdefault("embedded", {})))
    if which != "embedded":
        with postgres() as database, redis() as broker:
            url = database.recreate("jobs")
            settings = Settings(store_url=Secret(url), queue_url=Secret(broker.url))
            meter = Meter([database.pid, broker.pid])
            run(_measure(settings, meter, results.setdefault("distributed", {})))
    sys.stdout.write(json.dumps(results, indent=2) + "\n")


async def _measure(settings: Settings, meter: Meter, results: dict[str, Any]) -> None:
    directory = (await wire(settings)).shards.directory
    engine = directory.engine
    await engine.store.migrate()
    gateway = Counting(engine)
    stop = asyncio.Event()
    sweeping = None
    if directory.swept is not None:
        sweeper = Sweeper(engine.store, directory.swept, metrics=engine.metrics)
        sweeping = asyncio.create_task(Rounds(sweeper).run(stop))
    async with _working(gateway):
        await _run_job(engine, gateway, _fan(500), meter)  # whatever has to warm up
        await _drain(engine, gateway, meter)
    requests = {"fan_out": _fan(TASKS - 2), "diamonds": _diamonds(TASKS // 4)}
    found: dict[str, list[tuple[float, float]]] = {"plain": [], **{name: [] for name in requests}}
    submits: list[float] = []
    for _ in range(ROUNDS):
        async with _working(gateway):
            found["plain"].append(await _drain(engine, gateway, meter))
            for name, request in requests.items():
                began = time.perf_counter()
                await engine.control.pause_queue("default", tenant="default")
                job = await engine.jobs.submit(request)
                submits.append(time.perf_counter() - began)
                found[name].append(await _resume(engine, gateway, meter, TASKS))
                if (await engine.jobs.wait(job.id, seconds=10)).status is not JobStatus.COMPLETED:
                    raise RuntimeError("the job has not completed")
    async with _working(gateway):
        _starts.clear()
        _, chain_cpu = await _run_job(engine, gateway, _chain(CHAIN), meter)
        hops = sorted(after - before for before, after in pairwise(_starts))
    stop.set()
    if sweeping is not None:
        await sweeping
    await engine.close()
    rates = {name: max(rate for rate, _ in each) for name, each in found.items()}
    costs = {name: min(cost for _, cost in each) for name, each in found.items()}
    results |= {
        "per_s": {name: round(rate) for name, rate in rates.items()},
        "cpu_us": {name: round(cost, 1) for name, cost in costs.items()},
        "share": {name: round(rates[name] / rates["plain"], 2) for name in requests},
        "share_by_cpu": {name: round(costs["plain"] / costs[name], 2) for name in requests},
        "submit_job_s": round(min(submits), 2),
        "hop_ms": {"p50": _hop_ms(hops, 0.5), "p99": _hop_ms(hops, 0.99)},
        "hop_cpu_us": round(1e6 * chain_cpu / CHAIN),
    }


def _hop_ms(hops: Sequence[float], share: float) -> float:
    return round(1000 * hops[int(len(hops) * share)], 2)


@asynccontextmanager
async def _working(gateway: Counting) -> AsyncIterator[None]:
    """Run a worker meanwhile."""
    stop = asyncio.Event()
    worker = assemble_worker(
        gateway, [app], WorkerOptions(capacity=CAPACITY, grace=1.0), BuiltIn(http=False, pdf=False)
    )
    working = asyncio.create_task(worker.run(stop), name="worker")
    try:
        yield
    finally:
        stop.set()
        await working


async def _drain(engine: Engine, gateway: Counting, meter: Meter) -> tuple[float, float]:
    """Return at which rate plain tasks are run, and the microseconds of processor that one costs."""
    await engine.control.pause_queue("default", tenant="default")
    for _ in range(0, TASKS, 1000):
        await engine.submissions.submit_many([noop.call().request for _ in range(1000)])
    return await _resume(engine, gateway, meter, TASKS)


async def _resume(engine: Engine, gateway: Counting, meter: Meter, count: int) -> tuple[float, float]:
    """Let the worker have what waits, and return the rate and the cost of one task, as above."""
    enough = gateway.expect(count)
    used, began = meter.read(), time.perf_counter()
    await engine.control.resume_queue("default", tenant="default")
    await enough.wait()
    return count / (time.perf_counter() - began), 1e6 * (meter.read() - used) / count


async def _run_job(engine: Engine, gateway: Counting, request: JobRequest, meter: Meter) -> tuple[float, float]:
    """Return how many seconds a job takes from its submission on, and those of processor."""
    enough = gateway.expect(len(request.tasks))
    used, began = meter.read(), time.perf_counter()
    await engine.jobs.submit(request)
    await enough.wait()
    return time.perf_counter() - began, meter.read() - used


def _fan(width: int) -> JobRequest:
    middle = [f"m{number}" for number in range(width)]
    return JobRequest(
        name="fan",
        tasks={
            "first": JobTaskRequest(name="noop", payload=NOTHING),
            **{key: JobTaskRequest(name="noop", payload=NOTHING, needs=("first",)) for key in middle},
            "last": JobTaskRequest(name="noop", payload=NOTHING, needs=tuple(middle)),
        },
    )


def _diamonds(count: int) -> JobRequest:
    """Return a job of diamonds side by side: of each, two tasks need the first, and the last needs both."""
    tasks: dict[str, JobTaskRequest] = {}
    for number in range(count):
        for key, needs in {"a": "", "b": "a", "c": "a", "d": "bc"}.items():
            parents = tuple(f"{parent}{number}" for parent in needs)
            tasks[f"{key}{number}"] = JobTaskRequest(name="noop", payload=NOTHING, needs=parents)
    return JobRequest(name="diamonds", tasks=tasks)


def _chain(length: int) -> JobRequest:
    tasks = {"k0": JobTaskRequest(name="noop", payload=NOTHING)}
    for number in range(1, length):
        tasks[f"k{number}"] = JobTaskRequest(name="noop", payload=NOTHING, needs=(f"k{number - 1}",))
    return JobRequest(name="chain", tasks=tasks)


def _family(pid: int) -> list[int]:
    """Return a process and its children."""
    stats = [path.read_text(encoding="ascii", errors="replace") for path in Path("/proc").glob("[0-9]*/stat")]
    parents = {int(stat.split(" ", 1)[0]): int(stat.rpartition(")")[2].split()[1]) for stat in stats}
    return [pid, *(child for child, parent in parents.items() if parent == pid)]


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
