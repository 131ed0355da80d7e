"""A task that maps over a hundred thousand items, or `--tasks`: what memory its worker needs, and how fast it is."""

import asyncio
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from msgspec import Raw

from bench.scale.meter import private_mb
from bench.scale.rack import Scale, System, wait_until
from bench.scale.report import say
from bench.services import postgres, redis
from drumline.core.task import TaskRequest

COUNT: Final = 100_000
MOST_MB: Final = 50.0
IDLE_SECONDS: Final = 6.0
LIMIT_SECONDS: Final = 1800.0
APP: Final = Path(__file__).parent / "sleeping_app.py"
COMPLETED: Final = "SELECT count(*) FROM drumline.attempt WHERE outcome = 3"
TWICE: Final = f"SELECT count(*) FROM ({COMPLETED} GROUP BY task_id HAVING count(*) > 1) AS twice"
ORPHANS: Final = "SELECT count(*) FROM drumline.task_link WHERE state IS NULL"


def run(scale: Scale) -> dict[str, Any]:
    """Measure: the parent runs in a worker of its own, the children in another."""
    count = scale.tasks or scale.of(COUNT)
    with postgres() as server, redis() as broker, ExitStack() as stack:
        system = System(name="families", server=server, broker=broker)
        system.create()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-families-")))
        worker = ("worker", str(APP), "--concurrency")
        stack.enter_context(system.process("scheduler", log=folder / "scheduler"))
        parents = stack.enter_context(system.process(*worker, "1", "--queue", "parents", log=folder / "parents"))
        stack.enter_context(system.process(*worker, "200", "--queue", "default", log=folder / "children"))
        time.sleep(IDLE_SECONDS)
        idle = private_mb(parents.pid)
        over = threading.Event()
        peaks = [idle]
        watching = threading.Thread(target=_watch, args=(parents.pid, peaks, over))
        watching.start()
        began = time.perf_counter()
        asyncio.run(_submit(system, count))
        try:
            wait_until(lambda: int(system.execute(COMPLETED)) == count + 1, LIMIT_SECONDS, "not all tasks completed")
        finally:
            over.set()
            watching.join()
        seconds = time.perf_counter() - began
        found = {"orphans": int(system.execute(ORPHANS)), "completed_twice": int(system.execute(TWICE))}
    grown = round(max(peaks) - idle, 1)
    say(f"{count:,} children in {seconds:.0f} s; the worker of their parent grew by {grown} MB")
    holds = {"parent_under_50_mb": grown < MOST_MB, "each_once": not any(found.values())}
    return {
        "children": count, "seconds": round(seconds, 1), "children_per_s": round(count / seconds), "idle_mb": idle,
        "grown_mb": grown, **found, "holds": holds,
    }  # fmt: skip


def _watch(pid: int, peaks: list[float], over: threading.Event) -> None:
    while not over.wait(0.2):
        peaks.append(private_mb(pid))


async def _submit(system: System, count: int) -> None:
    async with system.engine() as engine:
        request = TaskRequest(name="fan_out", queue="parents", payload=Raw(b'{"count":%d}' % count))
        await engine.submissions.submit_many([request])
