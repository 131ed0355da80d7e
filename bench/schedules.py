"""Measure how late schedules fire: 10,000 of them with minutely crons, by one scheduler process.

python -m bench.schedules                    on SQLite, then on PostgreSQL
python -m bench.schedules sqlite             on SQLite alone
python -m bench.schedules --with-worker      with a worker process beside it, which runs what is fired
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.services import postgres
from drumline.core.clock import Instant
from drumline.core.schedule import ScheduleRequest, ScheduleView
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine

SCHEDULES = 10_000
MINUTES = 3
AT_ONCE = 1000
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
LOOK_EVERY = 0.02
MOST_LATE_MS = 20_000
RESULTS = Path(__file__).parent / "results"
APP = """
from drumline import Drumline

app = Drumline("bench")


@app.task(name="noop")
async def noop() -> None: ...
"""


def main() -> None:
    """Measure what the command line asks for, print it and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", nargs="?", choices=["sqlite", "postgres"])
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    parser.add_argument("--minutes", type=int, default=MINUTES)
    parser.add_argument("--with-worker", action="store_true")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": {"cores": os.cpu_count(), "python": platform.python_version()}}
    if options.which != "postgres":
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/drumline.db"
            results["sqlite"] = measure(url, options.schedules, options.minutes, with_worker=options.with_worker)
    if options.which != "sqlite":
        with postgres() as database:
            url = database.recreate("schedules")
            results["postgres"] = measure(url, options.schedules, options.minutes, with_worker=options.with_worker)
    _keep(results, with_worker=options.with_worker)


def measure(url: str, schedules: int, minutes: int, *, with_worker: bool) -> dict[str, Any]:
    """Let a scheduler process fire so many schedules for some minutes, and return how late each minute's runs were."""
    began, load = time.gmtime(), os.getloadavg()[0]
    views = asyncio.run(_prepare(url, schedules))
    with tempfile.TemporaryDirectory() as folder, _running(url, Path(folder), with_worker=with_worker):
        first = asyncio.run(_next_minute(url))
        # The schedules' own first minute may fall into the start of the processes: it is not counted.
        committed = asyncio.run(_committed(url, first, minutes))
    late = asyncio.run(_late(url, views, Instant(first), minutes))
    return {
        "command": " ".join(["python -m bench.schedules", *sys.argv[1:]]),
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", began),
        "load_average_at_start": round(load, 2),
        "schedules": schedules,
        "minutes": [
            _minute(one, schedules) | {"all_committed_ms": ms} for one, ms in zip(late, committed, strict=True)
        ],
        "all_within_a_second": all(len(one) == schedules for one in late) and max(committed) < 1000,
    }


def _minute(late: Sequence[int], schedules: int) -> dict[str, Any]:
    ordered = sorted(late)
    if not ordered:
        return {"fired": 0}
    return {
        "fired": f"{len(ordered)} of {schedules}",
        "late_ms_p50": ordered[len(ordered) // 2],
        "late_ms_p99": ordered[int(len(ordered) * 0.99)],
        "late_ms_max": ordered[-1],
    }


@contextmanager
def _running(url: str, folder: Path, *, with_worker: bool) -> Iterator[None]:
    """Run a scheduler, and perhaps a worker, until the end of the block."""
    (folder / "app.py").write_text(APP, encoding="utf-8")
    environment = os.environ | {
        "DRUMLINE_STORE_URL": url,
        "DRUMLINE_DATA": str(folder),
        "DRUMLINE_LOG_LEVEL": "warning",
    }
    commands = [["scheduler"]] + ([["worker", "app.py"]] if with_worker else [])
    processes = [
        subprocess.Popen([sys.executable, "-m", "drumline.cli.main", *command], env=environment, cwd=folder)
        for command in commands
    ]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)


async def _open(url: str) -> Engine:
    return await open_engine(Settings(store_url=Secret(url)))


async def _prepare(url: str, count: int) -> list[ScheduleView]:
    engine = await _open(url)
    await engine.store.migrate()
    now = await engine.store.queries.now()
    requests = [
        ScheduleRequest(
            name=f"schedule {number}",
            cron="* * * * *",
            timezone=ZONES[number % len(ZONES)],
            task=TaskRequest(name="noop"),
        )
        for number in range(count)
    ]
    new = [engine.schedules.accept(request, tenant="default", now=now) for request in requests]
    stored = [
        view
        for place in range(0, count, AT_ONCE)
        for view in await engine.store.schedules.add_schedules(new[place : place + AT_ONCE])
    ]
    await engine.close()
    return [view for view in stored if isinstance(view, ScheduleView)]


async def _next_minute(url: str) -> int:
    """Return a full minute of the store's clock that comes when the processes have surely started."""
    engine = await _open(url)
    now = await engine.store.queries.now()
    await engine.close()
    return (now + 15_000) // 60_000 * 60_000 + 60_000


async def _committed(url: str, first: int, minutes: int) -> list[int]:
    """Return for each minute after how many milliseconds others see that nothing of it is left to fire."""
    engine = await _open(url)
    seen = []
    for minute in range(first, first + minutes * 60_000, 60_000):
        await asyncio.sleep((minute - await engine.store.queries.now()) / 1000)
        while (watch := await engine.store.schedules.watch()).next_due is None or watch.next_due <= minute:
            if watch.now > minute + MOST_LATE_MS:
                break
            await asyncio.sleep(LOOK_EVERY)
        seen.append(watch.now - minute)
    await engine.close()
    return seen


async def _late(url: str, views: Sequence[ScheduleView], first: Instant, minutes: int) -> list[list[int]]:
    """Return for each minute how many milliseconds late each run was made."""
    engine = await _open(url)
    late: list[list[int]] = [[] for _ in range(minutes)]
    for view in views:
        for run in await engine.store.schedules.list_runs(view.id, limit=minutes + 2):
            minute = (run.fire_time - first) // 60_000
            if 0 <= minute < minutes:
                late[minute].append(run.created_at - run.fire_time)
    await engine.close()
    return late


def _keep(results: dict[str, Any], *, with_worker: bool) -> None:
    name = "schedules-with-worker" if with_worker else "schedules"
    kept = RESULTS / f"{name}.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    RESULTS.mkdir(exist_ok=True)
    kept.write_text(json.dumps(known | results, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
