"""The processes and services of a run: started, restarted when they end, repaired, and removed."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import redis

from scripts import programs
from tests.chaos.clocks import Clocks
from tests.chaos.disk import Disk
from tests.chaos.events import TOPIC
from tests.chaos.power import UnsyncedWrites
from tests.chaos.wires import Wires
from tests.faults.fleet import Fleet
from tests.harness import kafka
from tests.harness.kafka import KafkaServer
from tests.harness.postgres import PostgresServer
from tests.harness.programs import path_of, private_folder, run_as
from tests.harness.redis import RedisServer
from tests.harness.version_before import VersionBefore, VersionBeforeMissing, version_before

APP = Path(__file__).parent / "apps" / "witnessed.py"
PATIENCE = 300.0
"""Seconds for a start; a machine with more to do than this run takes its time."""
MARK = "CHAOS_RUN"
"""The variable by which processes of a run are found again."""
SETTINGS = {"max_wal_size": "512MB", "wal_level": "minimal", "max_wal_senders": "0"}
CHILDREN = "src/drumline/core/children.py"
"""What a version has in it that knows of children."""
POISON = "100000"
"""Faults may interrupt one task often; none may be given up for it."""


@dataclass
class Exit:
    """A process that ended though no fault of ours ended it; it is started again, as a supervisor would."""

    at: float
    name: str
    status: int
    lines: list[str] = field(default_factory=list)


class Installation:
    """2 API servers, 2 schedulers, 2 workers on the store and 1 over HTTP, 1 notifier, and their services."""

    def __init__(self, folder: Path, postgres_folder: Path | None, *, with_kafka: bool) -> None:
        self.folder = folder
        self.skipped: dict[str, str] = {}
        """Faults that cannot be injected here, with the reason."""
        self.postgres_folder = postgres_folder or private_folder("chaos", run_as("postgres"))
        self.disk = Disk(self.postgres_folder)
        self.undo_folder = private_folder("chaos-undo", run_as("postgres"))
        self.unsynced = UnsyncedWrites(self.undo_folder, self.postgres_folder / "data")
        self.postgres = PostgresServer(
            durable=True, folder=self.postgres_folder, settings=SETTINGS, environment=self.unsynced.environment()
        )
        self.kafka = self._start_kafka() if with_kafka else None
        processes = folder / "processes"
        processes.mkdir(exist_ok=True)
        self.fleet = Fleet(
            processes, apis=2, schedulers=2, near=2, far=1, notifiers=1, app=APP, postgres=self.postgres,
            poison_after=POISON, **self._bus(),
        )  # fmt: skip
        redis_port = int(self.fleet.redis.url().rpartition(":")[2].partition("/")[0])
        targets = {"postgres": self.postgres.port, "redis": redis_port, "api": self.fleet.apis[0].port}
        self.wires = Wires(targets)
        self.clocks = Clocks(folder / "clocks")
        self.before = self._version_before()
        self.before_has_children = self.before is None or (self.before.sources / CHILDREN).exists()
        self._note_skipped()
        self._connect()

    def start(self, *, is_before: bool) -> None:
        """Create the schema and start every process, in this version or in the one before it."""
        for name in self.fleet.members:
            self.set_version(name, is_before=is_before)
        self.fleet.python = self._python(is_before=is_before)
        self.fleet.start(PATIENCE)

    # -- services

    def flush_redis(self) -> None:
        """Forget everything that is in Redis."""
        with redis.Redis.from_url(self.fleet.redis.url(), socket_timeout=5) as client:
            client.flushall()

    def versions(self) -> str:
        """Return what the installation runs on."""
        postgres = subprocess.run([path_of("postgres"), "--version"], check=True, capture_output=True, text=True).stdout
        with redis.Redis.from_url(self.fleet.redis.url(), socket_timeout=5) as client:
            words = [f"PostgreSQL {postgres.split()[2]}", f"Redis {client.info()['redis_version']}"]
        jar = programs.find_files("kafka") if self.kafka is not None else None
        return ", ".join(words if jar is None else [*words, f"Kafka {jar.stem.rpartition('-')[2]}"])

    def restart_postgres(self) -> None:
        """Start PostgreSQL; after a crash in recovery it may need more than one start."""
        _start(self.postgres)

    def restart_redis(self) -> None:
        """Start Redis."""
        _start(self.fleet.redis)

    def restart_kafka(self) -> None:
        """Start Kafka."""
        assert self.kafka is not None
        _start(self.kafka)

    def migrate(self) -> None:
        """Bring the schema to this version, asked again while the database is away, as a deployment does."""
        command = [sys.executable, "-m", "drumline.cli.main", "migrate"]
        store = {"DRUMLINE_STORE_URL": self.postgres.url()}
        deadline = time.monotonic() + PATIENCE
        while (done := subprocess.run(command, env=os.environ | store, check=False, capture_output=True)).returncode:
            if time.monotonic() > deadline:
                raise RuntimeError(done.stderr.decode(errors="replace"))
            time.sleep(0.5)

    def set_version(self, name: str, *, is_before: bool) -> None:
        """Choose the version of a process from its next start on."""
        self.fleet.members[name].python = self._python(is_before=is_before)

    def is_before(self, name: str) -> bool:
        """Tell whether a process is of the version before, from its next start on."""
        return self.before is not None and self.fleet.members[name].python == self.before.python

    def has_children_everywhere(self) -> bool:
        """Tell whether every process knows of children: one that does not, does not tell parents of their end."""
        return self.before_has_children or not any(map(self.is_before, self.fleet.members))

    def _python(self, *, is_before: bool) -> str:
        return self.before.python if is_before and self.before is not None else sys.executable

    def fallen(self) -> list[str]:
        """Return the processes that should run and do not."""
        return self.fleet.fallen()

    def exit_of(self, name: str, at: float) -> Exit:
        """Return how a process has ended."""
        member = self.fleet.members[name]
        assert member.process is not None
        return Exit(at, name, int(member.process.returncode or 0), member.text.splitlines()[-5:])

    def remove(self) -> None:
        """End everything, and leave only the folder of the run."""
        self.fleet.close()
        self.wires.close()
        if self.kafka is not None:
            self.kafka.thaw()
            self.kafka.remove()
        self.disk.remove()
        shutil.rmtree(self.postgres_folder, ignore_errors=True)
        shutil.rmtree(self.undo_folder, ignore_errors=True)

    # -- set up

    def _start_kafka(self) -> KafkaServer | None:
        if reason := kafka.missing():
            self.skipped["kafka"] = reason
            return None
        return KafkaServer()

    def _bus(self) -> dict[str, Any]:
        if self.kafka is None:
            return {}
        return {"bus_url": self.kafka.url(), "bus_events_topic": TOPIC, "bus_dead_letters_topic": f"{TOPIC}-dead"}

    def _connect(self) -> None:
        """Lead every process through the proxies, and give it a clock of its own."""
        store = self.wires.url("postgres", self.postgres.url())
        queue = self.wires.url("redis", self.fleet.redis.url())
        for name, member in self.fleet.members.items():
            if "DRUMLINE_STORE_URL" in member.environment:
                member.environment |= {"DRUMLINE_STORE_URL": store, "DRUMLINE_QUEUE_URL": queue}
            else:
                member.environment["DRUMLINE_URL"] = self.wires.url("api", self.fleet.apis[0].url)
            member.environment |= {"CHAOS_MEMBER": name, "CHAOS_EXECUTIONS": str(self.folder / "executions.jsonl")}
            member.environment |= self.clocks.environment(name)

    def _version_before(self) -> VersionBefore | None:
        try:
            return version_before()
        except VersionBeforeMissing as error:
            self.skipped["upgrade from the version before"] = f"{error}; restarted in the same version"
            return None

    def _note_skipped(self) -> None:
        if self.disk.reason:
            self.skipped["disk_full"] = self.disk.reason
        if self.clocks.reason:
            self.skipped["clock"] = self.clocks.reason
        if self.unsynced.reason:
            self.skipped["unsynced writes dropped at power losses"] = self.unsynced.reason


def _start(server: PostgresServer | RedisServer | KafkaServer) -> None:
    """Start a server, again if it does not come up in its time."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return server.start()
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            server.kill()
            time.sleep(0.5)


def mark_processes(folder: Path) -> None:
    """Let every process that is started from now on be known as one of the run in this folder."""
    os.environ[MARK] = str(folder)


def end_leftovers(folder: Path) -> int:
    """Kill what a run that was killed has left, and wait until it is gone; return how many processes there were."""
    found: set[psutil.Process] = set()
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.environ().get(MARK) == str(folder):
                found |= {process, *process.children(recursive=True)}
    found.discard(psutil.Process())
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(found, PATIENCE)
    return len(found)
