"""What a task without steps costs one version of Drumline: a program that `bench.versions` runs for each version.

    python version_probe.py COUNT [--calls]      prints a line of JSON

It uses only what every version since the first durable tasks has, and nothing else of `bench`: the package that is
measured is the one that `PYTHONPATH` names. With `--calls` function calls are counted, in all threads, not times.
"""

import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.lifecycle.processes import run
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.sdk.app import Drumline
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import wire
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

BULK: Final = 1000
UNDER_WAY: Final = 200
CAPACITY: Final = 500
WARM: Final = 2000
TICKS: Final = os.sysconf("SC_CLK_TCK")

app = Drumline("probe")


@app.task(name="noop")
async def noop(number: int) -> None:
    """Do nothing."""


class Meter:
    """What this process and the servers have used: seconds of processor time, or function calls."""

    def __init__(self, *, counts_calls: bool) -> None:
        self._calls = 0
        self._counts_calls = counts_calls
        if counts_calls:
            threading.setprofile(self._count)
            sys.setprofile(self._count)

    def used(self) -> dict[str, float]:
        """Return what was used until now."""
        if self._counts_calls:
            return {"calls": self._calls}
        pids = [int(pid) for pid in os.environ.get("PROBE_PIDS", "").split()]
        return {"own_us": time.process_time() * 1e6, "servers_us": sum(map(_seconds, pids)) * 1e6}

    def _count(self, _frame: Any, event: str, _argument: Any) -> None:
        if event in {"call", "c_call"}:
            self._calls += 1


def _seconds(server: int) -> float:
    """Return the processor time of a server and its children, those included that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(stat.parent.name) == server or int(fields[1]) == server:
            ticks += sum(map(int, fields[11:15] if int(stat.parent.name) == server else fields[11:13]))
    return ticks / TICKS


class Probe:
    """An engine with a worker now and then, and what one task costs them."""

    def __init__(self, engine: Engine, meter: Meter) -> None:
        self._engine = engine
        self._meter = meter
        self._gateway = gateway_of(engine)
        self._settle = self._gateway.settle
        self._gateway.settle = self._counted  # type: ignore[method-assign]
        self._completed = 0

    async def measured(self, act: Callable[[int], Awaitable[None]], count: int) -> dict[str, float]:
        """Do something with so many tasks, and return what each of them cost."""
        before = self._meter.used()
        await act(count)
        return {name: (used - before[name]) / count for name, used in self._meter.used().items()}

    async def submit(self, count: int) -> None:
        """Submit tasks in bulk."""
        for _ in range(0, count, BULK):
            await self._engine.submissions.submit_many([noop.call(0).request for _ in range(BULK)])

    async def drain(self, count: int) -> None:
        """Run tasks that are there."""
        async with self._working(count):
            pass

    async def pass_through(self, count: int) -> None:
        """Submit tasks one by one, many under way at a time, and run them meanwhile."""
        async with self._working(count):
            for _ in range(0, count, UNDER_WAY):
                tasks = (self._engine.submissions.submit(noop.call(0).request) for _ in range(UNDER_WAY))
                await asyncio.gather(*tasks)

    @asynccontextmanager
    async def _working(self, count: int) -> AsyncIterator[None]:
        """Run a worker until so many more tasks are settled."""
        wanted = self._completed + count
        stop = asyncio.Event()
        options = WorkerOptions(capacity=CAPACITY, grace=1.0)
        worker = assemble_worker(self._gateway, [app], options, BuiltIn(http=False, pdf=False))
        working = asyncio.create_task(worker.run(stop))
        yield
        while self._completed < wanted:  # noqa: ASYNC110 - a bench, not a test
            await asyncio.sleep(0.002)
        stop.set()
        await working

    async def _counted(self, reports: Any) -> Any:
        answers = await self._settle(reports)
        self._completed += len(answers)
        return answers


async def probe(count: int, meter: Meter, folder: str) -> dict[str, dict[str, float]]:
    """Return what one task costs when it is submitted in bulk, drained, and submitted and run one by one."""
    store, queue = os.environ.get("PROBE_STORE"), os.environ.get("PROBE_QUEUE")
    settings = Settings(data=Path(folder))
    if store is not None and queue is not None:
        settings = Settings(store_url=Secret(store), queue_url=Secret(queue))
    engine = (await wire(settings)).engine
    await engine.store.migrate()
    each = Probe(engine, meter)
    for act in (each.submit, each.drain, each.pass_through):  # connections are opened and statements planned by then
        await act(WARM)
    found = {
        "submitted in bulk": await each.measured(each.submit, count),
        "drained": await each.measured(each.drain, count),
        "one by one, end to end": await each.measured(each.pass_through, count // 4 // UNDER_WAY * UNDER_WAY),
    }
    await engine.close()
    return found


def main() -> None:
    """Measure, and print it."""
    meter = Meter(counts_calls="--calls" in sys.argv)

    async def work() -> None:
        with tempfile.TemporaryDirectory(prefix="drumline-probe-") as folder:
            print(json.dumps(await probe(int(sys.argv[1]), meter, folder)), flush=True)

    run(work())


if __name__ == "__main__":
    main()
