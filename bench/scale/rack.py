"""What the tests stand on: a system of its own (database and Redis), its workers, and how its work is counted."""

import asyncio
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from msgspec import Raw

from bench.scale.meter import cpu_seconds
from bench.services import Postgres, Redis, stop_groups
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine

PEER: Final = Path(__file__).parent.parent / "peers" / "drumline_peer.py"
ROOT: Final = Path(__file__).parent.parent.parent
WORKERS: Final = 2
BATCH: Final = 1000
LIMIT_SECONDS: Final = 240.0
START_SECONDS: Final = 20.0
SETTLED_SECONDS: Final = 3.0
"""After which a scheduler that has just started has looked at everything once, as it does seldom from then on."""
THREADS: Final = 256  # the layout of a tally file: see peers/harness.py


class Stalled(Exception):
    """Something did not happen in its time."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much of everything."""

    quick: bool = False
    minutes: float = 30.0
    rate: float | None = None
    retention: float = 0.0
    tasks: int | None = None
    workers: int | None = None
    servers: int | None = None
    seconds: float | None = None

    def of(self, count: int) -> int:
        """Return a number of things: all of them, or a tenth."""
        return count // 10 if self.quick else count


@dataclass(frozen=True, kw_only=True)
class System:
    """A Drumline on a database of its own, with its own Redis or none."""

    name: str
    server: Postgres
    broker: Redis | None
    retention: float = 0.0
    """How many seconds ended tasks are kept; 0 is for ever."""

    @property
    def store_url(self) -> str:
        """Where its tasks are kept."""
        return self.server.url(self.name)

    @property
    def settings(self) -> Settings:
        """The settings of its processes."""
        queue = None if self.broker is None else Secret(self.broker.url)
        return Settings(store_url=Secret(self.store_url), queue_url=queue)

    def create(self) -> None:
        """Make the database and its schema."""
        self.server.recreate(self.name)
        subprocess.run([sys.executable, str(PEER), "setup"], check=True, env=self._environ(), cwd=ROOT)

    def execute(self, statement: str) -> str:
        """Run a statement in its database."""
        return self.server.execute(statement, self.name).strip()

    def settle_down(self) -> None:
        """Leave nothing to autovacuum or a checkpoint that would disturb the next measurement."""
        self.execute("VACUUM ANALYZE")
        self.execute("CHECKPOINT")

    @contextmanager
    def workers(self) -> Iterator["Crew"]:
        """Run two workers and a scheduler."""
        with tempfile.TemporaryDirectory(prefix="drumline-tally-") as folder:
            tally = Path(folder)
            environ = self._environ() | {"PEER_TALLY_DIR": folder}
            with (tally / "log").open("wb") as log:
                scheduler = _start([sys.executable, "-m", "drumline.cli.main", "scheduler"], environ, log)
                time.sleep(SETTLED_SECONDS)
                workers = [_start([sys.executable, str(PEER), "worker"], environ, log) for _ in range(WORKERS)]
            running = [*workers, scheduler]
            try:
                yield Crew(tally=tally, workers=[each.pid for each in workers], scheduler=scheduler.pid)
            except Stalled as error:
                said = (tally / "log").read_text(errors="replace")[-2000:]
                raise Stalled(f"{error}\n{said}") from error
            finally:
                stop_groups(running)

    @contextmanager
    def process(self, *words: str, log: Path, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run one of Drumline's own commands."""
        command = [sys.executable, "-m", "drumline.cli.main", *words]
        with log.open("wb") as file:
            started = _start(command, self._environ() | environ, file)
        try:
            yield started
        finally:
            stop_groups([started])

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine]:
        """Give an engine in this process."""
        engine = await open_engine(self.settings)
        try:
            yield engine
        finally:
            await engine.close()

    def pids(self) -> dict[str, list[int]]:
        """Return the servers' processes."""
        return {"postgres": [self.server.pid]} | ({} if self.broker is None else {"redis": [self.broker.pid]})

    def _environ(self) -> dict[str, str]:
        queue = "" if self.broker is None else self.broker.url
        named = {"DRUMLINE_STORE_URL": self.store_url, "PEER_POSTGRES_URL": self.store_url, "PEER_REDIS_URL": queue}
        named |= {"DRUMLINE_QUEUE_URL": queue} if queue else {"DRUMLINE_BENCH_WITHOUT_REDIS": "1"}
        kept = f"{self.retention:g}s"
        named |= {"DRUMLINE_RETENTION": kept} | ({"DRUMLINE_EVENTS_RETENTION": kept} if self.retention else {})
        return os.environ | named | {"PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Workers at work, and what they have counted: a task counts when its settlement is committed."""

    tally: Path
    workers: list[int]
    scheduler: int

    def counts(self) -> list[int]:
        """Return the completions of each worker."""
        return [int(sum(_cells(file, 0, THREADS))) for file in self.tally.glob("*.tally")]

    def completed(self) -> int:
        """Return the completions of all."""
        return sum(self.counts())

    def delays(self) -> list[float]:
        """Return by how many milliseconds tasks began after the time that they carry."""
        return [
            delay
            for file in self.tally.glob("*.tally")
            for delay in _cells(file, THREADS + 1, int(sum(_cells(file, THREADS, 1))))
        ]

    def await_work(self) -> None:
        """Wait until every worker has completed something."""
        wait_until(lambda: sum(count > 0 for count in self.counts()) >= WORKERS, START_SECONDS, "no work was done")

    def await_completed(self, count: int, seconds: float = LIMIT_SECONDS) -> None:
        """Wait until so many tasks are completed."""
        wait_until(lambda: self.completed() >= count, seconds, f"fewer than {count:,} tasks were completed")


@dataclass(kw_only=True)
class Window:
    """A stretch of time: how much was done in it, and what that cost."""

    pids: dict[str, list[int]]
    has_own: bool = False
    began: float = field(default_factory=time.perf_counter)
    spent: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spent = self._spent()

    def end(self, count: int) -> dict[str, float]:
        """Return the rate, and microseconds of processor time for each task."""
        seconds = time.perf_counter() - self.began
        costs = {f"{name}_us": (spent - self.spent[name]) / count * 1e6 for name, spent in self._spent().items()}
        costs["all_us"] = sum(costs.values())
        return {"per_s": round(count / seconds)} | {name: round(cost, 1) for name, cost in costs.items()}

    def _spent(self) -> dict[str, float]:
        spent = {name: cpu_seconds(pids) for name, pids in self.pids.items()}
        return spent | ({"client": time.process_time()} if self.has_own else {})


def drain(system: System, count: int, wanted: int = 0, *, warm: int = 0) -> dict[str, float]:
    """Let workers loose on `count` tasks that are due, and measure from when all of them are at work.

    Not before `warm` tasks are completed: connections are opened and statements planned by then.
    """
    with system.workers() as crew:
        crew.await_work()
        crew.await_completed(warm)
        first = crew.completed()
        window = Window(pids=system.pids() | {"workers": crew.workers})
        crew.await_completed(wanted or count)
        return window.end(crew.completed() - first)


def submit(system: System, count: int, *, warm: int = BATCH) -> dict[str, float]:
    """Submit tasks in bulk from this process, and measure it after the first `warm`, which open connections."""
    return asyncio.run(_submit(system, count, warm))


async def _submit(system: System, count: int, warm: int) -> dict[str, float]:
    async with system.engine() as engine:
        requests = requests_for([None] * BATCH)
        for _ in range(warm // BATCH):
            await engine.submissions.submit_many(requests)
        window = Window(pids=system.pids(), has_own=True)
        for _ in range((count - warm) // BATCH):
            await engine.submissions.submit_many(requests)
        return window.end(count - warm)


async def schedule(engine: Engine, dues: Sequence[float]) -> None:
    """Submit tasks that are due at these (Unix) times, and carry them."""
    for start in range(0, len(dues), BATCH):
        await engine.submissions.submit_many(requests_for(dues[start : start + BATCH]))


def requests_for(dues: Sequence[float | None]) -> list[TaskRequest]:
    """Return tasks that do nothing, at once or at a time."""
    return [
        TaskRequest(
            name="noop",
            payload=Raw(b'{"sent_ns":%d}' % (0 if due is None else round(due * 1000) * 1_000_000)),
            run_at=None if due is None else datetime.fromtimestamp(round(due, 3), UTC),
        )
        for due in dues
    ]


def wait_until(is_so: Callable[[], bool], seconds: float, complaint: str) -> None:
    """Wait until `is_so`, or raise with `complaint`."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise Stalled(complaint)
        time.sleep(0.01)


def _start(command: list[str], environ: dict[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True)


def _cells(file: Path, first: int, count: int) -> tuple[Any, ...]:
    with file.open("rb") as cells:
        cells.seek(first * 8)
        content = cells.read(count * 8)
    return struct.unpack(f"{len(content) // 8}d", content[: len(content) // 8 * 8])
