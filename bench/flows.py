"""Measure flows whose tasks run one after the other: ten that compute `fibo(33)`, and forty light ones, `fibo(10)`.

    python -m bench.flows                    on SQLite, on PostgreSQL with Redis, then Prefect and Airflow
    python -m bench.flows --only embedded    some of them: embedded, distributed, prefect, airflow
    python -m bench.flows --quick            fibo(25) instead of fibo(33)

The work is that of Windmill's comparison of workflow engines (https://www.windmill.dev/docs/misc/benchmarks/competitors).
A flow is run once to warm up, and then three times; the median counts. It is a job whose tasks run in a child process.
The limit is the same calls in a plain loop, so what is left is the time between tasks.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Raw

from bench.peers import SCRIPTS, PeerFailed, install_environment
from bench.services import Postgres, free_ports, postgres, redis, stop_groups
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.lifecycle.processes import run
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.observe.logging import set_up_logging
from drumline.sdk.app import Drumline
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import wire
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

ROUNDS: Final = 3
LONG: Final = 10
LIGHT: Final = 40
LIGHT_NUMBER: Final = 10
WAIT_SECONDS: Final = 300.0
PEER_SECONDS: Final = 1800.0
PEER_PORTS: Final = 4
GIST: Final = 2000
PEERS: Final = {
    "prefect": ("prefect", "fastapi<0.150"),  # 3.8.8 allows newer ones, and does not start with them
    "airflow": ("apache-airflow", "psycopg2-binary", "asyncpg"),
}
"""What each peer needs in its environment; its script is `peers/NAME_flow.py`."""

app = Drumline("flows")


@app.task(name="fibo", process=True)
def fibo(n: int) -> int:
    """Return a Fibonacci number, the slow way."""
    return n if n <= 1 else _fibo(n - 1) + _fibo(n - 2)


def _fibo(n: int) -> int:
    return n if n <= 1 else _fibo(n - 1) + _fibo(n - 2)


def flow_of(count: int, number: int) -> JobRequest:
    """Return a job of tasks one after the other."""
    payload = Raw(json.dumps({"n": number}).encode())
    tasks = {
        f"t{place:02}": JobTaskRequest(name="fibo", payload=payload, needs=(f"t{place - 1:02}",) if place else ())
        for place in range(count)
    }
    return JobRequest(name="flow", tasks=tasks)


async def measure_drumline(settings: Settings, flows: dict[str, tuple[int, int]]) -> dict[str, float]:
    """Return the median seconds that each flow takes."""
    engine = (await wire(settings)).shards.directory.engine
    await engine.store.migrate()
    async with _working(engine):
        found = {name: await _rounds(engine, flow_of(*flow)) for name, flow in flows.items()}
    await engine.close()
    return found


async def _rounds(engine: Engine, request: JobRequest) -> float:
    seconds = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        job = await engine.jobs.submit(request)
        while (await engine.jobs.wait(job.id, seconds=WAIT_SECONDS)).status is JobStatus.PROCESSING:
            pass
        seconds.append(time.perf_counter() - began)
        if (await engine.jobs.wait(job.id, seconds=1)).status is not JobStatus.COMPLETED:
            raise RuntimeError("the flow has not completed")
    return statistics.median(seconds[1:])


@asynccontextmanager
async def _working(engine: Engine) -> AsyncIterator[None]:
    """Run a worker with a child process meanwhile."""
    stop = asyncio.Event()
    options = WorkerOptions(capacity=1, grace=1.0)
    worker = assemble_worker(LocalGateway(engine), [app], options, BuiltIn(http=False, pdf=False))
    working = asyncio.create_task(worker.run(stop), name="worker")
    try:
        yield
    finally:
        stop.set()
        await working


def measure_limit(flows: dict[str, tuple[int, int]]) -> dict[str, float]:
    """Return the seconds of the same calls in a plain loop."""
    found = {}
    for name, (count, number) in flows.items():
        seconds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for _ in range(count):
                _fibo(number)
            seconds.append(time.perf_counter() - began)
        found[name] = statistics.median(seconds)
    return found


def measure(flows: dict[str, tuple[int, int]], only: list[str]) -> dict[str, dict[str, float]]:
    """Return the seconds of each flow, by system."""
    found = {"limit": measure_limit(flows)}
    if "embedded" in only:
        with tempfile.TemporaryDirectory(prefix="drumline-bench-") as folder:
            found["drumline embedded"] = run_measured(Settings(data=Path(folder)), flows)
    if "distributed" in only:
        with postgres() as database, redis() as broker:
            settings = Settings(store_url=Secret(database.recreate("flows")), queue_url=Secret(broker.url))
            found["drumline"] = run_measured(settings, flows)
    with postgres() as database:
        for name in PEERS:
            if name in only:
                told = measure_peer(name, database, flows)
                found[f"{name} {told.pop('version')}"] = told
    return found


def measure_peer(name: str, database: Postgres, flows: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """Return the median seconds that each flow takes a peer, and its version."""
    home = install_environment(f"{name}-flow", "python", PEERS[name])
    command = [str(home / "bin" / "python"), str(SCRIPTS / f"{name}_flow.py"), json.dumps(flows)]
    ports = ",".join(map(str, free_ports(PEER_PORTS)))
    with tempfile.TemporaryDirectory(prefix="drumline-flow-", ignore_cleanup_errors=True) as folder:
        own = {"PEER_TALLY_DIR": folder, "PEER_PORTS": ports, "PEER_POSTGRES_URL": database.recreate("flows")}
        told, log = Path(folder) / "told", Path(folder) / "log"
        with told.open("wb") as output, log.open("wb") as errors:
            environ = os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"}
            peer = subprocess.Popen(command, env=environ, stdout=output, stderr=errors, start_new_session=True)
        try:
            if peer.wait(PEER_SECONDS) != 0:
                raise PeerFailed(log.read_text(errors="replace")[-GIST:])
            return dict(json.loads(told.read_text().splitlines()[-1]))
        finally:
            stop_groups([peer])


def run_measured(settings: Settings, flows: dict[str, tuple[int, int]]) -> dict[str, float]:
    """Run `measure_drumline` on an event loop of its own."""
    found: dict[str, float] = {}

    async def work() -> None:
        found.update(await measure_drumline(settings, flows))

    run(work())
    return found


def rows_of(found: dict[str, dict[str, float]], flows: dict[str, tuple[int, int]]) -> list[str]:
    """Return a table: the seconds of each flow, and the milliseconds between two tasks."""
    rows = ["| system | " + " | ".join(f"{name}, s | between tasks, ms" for name in flows) + " |"]
    rows.append("|---|" + "---|---|" * len(flows))
    for system, seconds in found.items():
        cells: list[Any] = []
        for name, (count, _) in flows.items():
            between = (seconds[name] - found["limit"][name]) / count * 1e3
            cells += [f"{seconds[name]:.3f}", f"{between:.1f}" if system != "limit" else "-"]
        rows.append(f"| {system} | " + " | ".join(cells) + " |")
    return rows


def main() -> None:
    """Read the flags, measure and print."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--only", default=",".join(("embedded", "distributed", *PEERS)))
    flags.add_argument("--quick", action="store_true", help="fibo(25) instead of fibo(33)")
    given = flags.parse_args()
    set_up_logging("error")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and peers are stopped
    number = 25 if given.quick else 33
    flows = {f"{LONG} x fibo({number})": (LONG, number), f"{LIGHT} x fibo({LIGHT_NUMBER})": (LIGHT, LIGHT_NUMBER)}
    sys.stdout.write("\n".join(rows_of(measure(flows, given.only.split(",")), flows)) + "\n")


if __name__ == "__main__":
    main()
