"""Three schedulers, 200 schedules that fire each second, and a scheduler killed every few seconds.

Every fire time must have exactly one run with one task of its own. The schedules skip what is missed, so that whatever
a scheduler took for an absence would show as a hole. `DRUMLINE_TEST_SCHEDULES_SECONDS` makes it longer.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest

from drumline.core.clock import Instant
from drumline.core.firing_policy import Misfire
from drumline.core.schedule import RunState, RunView, ScheduleView
from drumline.ports.store import Store
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.harness.postgres import PostgresServer
from tests.schedule_factories import new_schedule

SECONDS = float(os.environ.get("DRUMLINE_TEST_SCHEDULES_SECONDS") or 20)
SCHEDULES = 200
KILL_EVERY = (1.5, 3.5)
DOWN_SECONDS = (0.2, 2.5)
TAIL_MS = 3_000
"""What fired just before the end may have been left to a scheduler that was not there any more."""

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120 + 3 * SECONDS)]


class Schedulers:
    """Three real processes, each life with a log of its own."""

    def __init__(self, store_url: str, folder: Path) -> None:
        self._folder = folder
        self._environment = os.environ | {
            "DRUMLINE_STORE_URL": store_url, "DRUMLINE_DATA": str(folder), "DRUMLINE_LOG_LEVEL": "debug",
        }  # fmt: skip
        self._logs: list[Path] = []
        self.processes: list[tuple[subprocess.Popen[bytes], Path]] = [self._start() for _ in range(3)]
        self.kills = 0

    def kill_for(self, seconds: float, chance: Random) -> None:
        """Kill one every few seconds, and start it again a bit later. Somebody is always there.

        Where starts are slow there are fewer kills in that time; a few there must be.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end or self.kills < seconds / 10:
            time.sleep(chance.uniform(*KILL_EVERY))
            number = chance.randrange(3)
            self._await_others(number)
            self._kill(number)
            time.sleep(chance.uniform(*DOWN_SECONDS))
            self.processes[number] = self._start()

    def close(self) -> None:
        for process, _ in self.processes:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait(30)

    @property
    def warnings(self) -> str:
        """What they complained of."""
        lines = [line for log in self._logs for line in log.read_text(errors="replace").splitlines()]
        return "\n".join(line for line in lines if '"debug"' not in line and '"info"' not in line)

    def _await_others(self, number: int) -> None:
        """Wait until one of the others has fired in this life: on a busy machine a start takes its time."""
        deadline = time.monotonic() + 60
        others = [log for place, (_, log) in enumerate(self.processes) if place != number]
        while not any("schedules.fired" in log.read_text(errors="replace") for log in others):
            assert time.monotonic() < deadline, self.warnings
            time.sleep(0.05)

    def _kill(self, number: int) -> None:
        """End a scheduler without a word."""
        process, _ = self.processes[number]
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
        self.kills += 1

    def _start(self) -> tuple[subprocess.Popen[bytes], Path]:
        path = self._folder / f"scheduler-{len(self._logs)}.log"
        self._logs.append(path)
        with path.open("ab") as log:
            command = [sys.executable, "-m", "drumline.cli.main", "scheduler"]
            return subprocess.Popen(command, stdout=log, stderr=log, env=self._environment, cwd=self._folder), path


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'drumline.db'}"
        return
    server: PostgresServer = request.getfixturevalue("durable_postgres")
    yield server.url()


async def open_store(url: str) -> Any:
    if url.startswith("sqlite:///"):
        return await SqliteStore.open(url.removeprefix("sqlite:///"))
    return await PostgresStore.open(url)


def test_every_fire_time_gives_one_run_while_schedulers_are_killed(
    store_url: str, tmp_path: Path, chance: Random
) -> None:
    views = asyncio.run(prepare(store_url))
    schedulers = Schedulers(store_url, tmp_path)
    try:
        schedulers.kill_for(SECONDS, chance)
    finally:
        schedulers.close()

    runs, ended_at, tasks = asyncio.run(collect(store_url, views))
    late = sorted(run.created_at - run.fire_time for one in runs.values() for run in one)
    print(  # noqa: T201 - shown with -s, and when it fails
        f"{schedulers.kills} kills, {len(late)} runs, late by {median(late)} ms at the median, "
        f"{late[int(len(late) * 0.99)]} ms at the 99th percentile, {late[-1]} ms at most"
    )

    assert schedulers.kills >= SECONDS / 10
    for view in views:
        check_one(view, runs[view.name], Instant(ended_at - TAIL_MS), schedulers.warnings)
    made = [run.task for one in runs.values() for run in one]
    assert len(set(made)) == len(made)
    assert tasks == len(made), "there are tasks without a run, or runs without a task"


def check_one(view: ScheduleView, runs: list[RunView], until: Instant, said: str) -> None:
    """Check that from the first fire time to the last each second has a run that started."""
    assert view.turn is not None
    first = runs[0].fire_time
    assert {run.state for run in runs} == {RunState.STARTED}
    assert [run.fire_time for run in runs] == [first + number * 1000 for number in range(len(runs))], said
    assert runs[-1].fire_time >= until - 1000, said


async def prepare(url: str) -> list[ScheduleView]:
    """Store the schedules, half of them by cron and half by interval; the first firing is some seconds away."""
    store: Store = await open_store(url)
    try:
        await store.migrate()
        now = await store.queries.now()
        rules: list[dict[str, Any]] = [{"cron": "* * * * * *"}, {"interval": 1}]
        new = [
            new_schedule(now, f"s{number}", misfire=Misfire.SKIP, **rules[number % 2]) for number in range(SCHEDULES)
        ]
        answers = await store.schedules.add_schedules(new)
        return [answer for answer in answers if isinstance(answer, ScheduleView)]
    finally:
        await store.close()


async def collect(url: str, views: list[ScheduleView]) -> tuple[dict[str, list[RunView]], Instant, int]:
    """Return all runs by schedule, the end of the last one, and how many tasks there are."""
    store: Store = await open_store(url)
    try:
        runs = {view.name: (await store.schedules.list_runs(view.id, limit=100_000))[::-1] for view in views}
        queues = await store.queries.queues()
        ended_at = max(run.fire_time for one in runs.values() for run in one)
        return runs, ended_at, sum(queue.queued + queue.pending + queue.processing for queue in queues)
    finally:
        await store.close()
