"""Measure jobs against plain tasks of the same backend: a wide fan-out and fan-in, and a long chain.

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

WIDE = 5_000
CHAIN = 1_000
ROUNDS = 5
CAPACITY = 500
NOTHING = Raw(b"{}")

app = Drumline("bench")


@app.task(name="noop")
async def noop() -> None:
    """Do nothing."""


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
        await _run_job(engine, gateway, _fan(500))  # whatever has to warm up
        await _drain(engine, gateway, meter)
    plain, wide, submits = [], [], []
    for _ in range(ROUNDS):
        async with _working(gateway):
            plain.append(await _drain(engine, gateway, meter))
            began = time.perf_counter()
            await engine.control.pause_queue("default", tenant="default")
            job = await engine.jobs.submit(_fan(WIDE))
            submits.append(time.perf_counter() - began)
            wide.append(await _resume(engine, gateway, meter, WIDE + 2))
        if (await engine.jobs.wait(job.id, seconds=10)).status is not JobStatus.COMPLETED:
            raise RuntimeError("the job has not completed")
    async with _working(gateway):
        chain = await _run_job(engine, gateway, _chain(CHAIN))
    stop.set()
    if sweeping is not None:
        await sweeping
    await engine.close()
    rates = [max(rate for rate, _ in each) for each in (plain, wide)]
    costs = [min(cost for _, cost in each) for each in (plain, wide)]
    results |= {
        "plain_drain_per_s": round(rates[0]),
        "fan_out_per_s": round(rates[1]),
        "share": round(rates[1] / rates[0], 2),
        "plain_cpu_us": round(costs[0]),
        "fan_out_cpu_us": round(costs[1]),
        "share_by_cpu": round(costs[0] / costs[1], 2),
        "submit_fan_out_s": round(min(submits), 2),
        "chain_step_ms": round(1000 * chain / CHAIN, 2),
    }


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
    for _ in range(0, WIDE, 1000):
        await engine.submissions.submit_many([noop.call().request for _ in range(1000)])
    return await _resume(engine, gateway, meter, WIDE)


async def _resume(engine: Engine, gateway: Counting, meter: Meter, count: int) -> tuple[float, float]:
    """Let the worker have what waits, and return the rate and the cost of one task, as above."""
    enough = gateway.expect(count)
    used, began = meter.read(), time.perf_counter()
    await engine.control.resume_queue("default", tenant="default")
    await enough.wait()
    return count / (time.perf_counter() - began), 1e6 * (meter.read() - used) / count


async def _run_job(engine: Engine, gateway: Counting, request: JobRequest) -> float:
    """Return how many seconds a job takes from its submission on."""
    enough = gateway.expect(len(request.tasks))
    began = time.perf_counter()
    await engine.jobs.submit(request)
    await enough.wait()
    return time.perf_counter() - began


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
