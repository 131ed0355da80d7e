"""The faults: each is injected, held for some seconds, and repaired."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from tests.chaos.installation import Exit, Installation
from tests.evidence.trace import Fault
from tests.harness.proxy import Proxy

STOP_SECONDS = (1.0, 20.0)
WEIGHTS: Mapping[str, int] = {
    "kill": 26,
    "stop": 12,
    "flush": 6,
    "restart_redis": 6,
    "restart_postgres": 4,
    "crash_postgres": 4,
    "power_loss": 3,
    "cut": 8,
    "half_open": 6,
    "delay": 7,
    "lose_reply": 8,
    "pause_kafka": 4,
    "kill_kafka": 1,
    "disk_full": 3,
    "clock": 8,
    "upgrade": 2,
}
OF_PROCESSES = frozenset({"kill", "stop", "clock"})
OF_WIRES = frozenset({"cut", "half_open", "delay", "lose_reply"})
OF_POSTGRES = frozenset({"restart_postgres", "crash_postgres", "power_loss", "disk_full"})
OF_REDIS = frozenset({"flush", "restart_redis"})
OF_KAFKA = frozenset({"pause_kafka", "kill_kafka"})
WIRES = ("postgres", "redis", "api")


@dataclass
class Injector:
    """Injects faults into an installation; two that are about the same target never overlap."""

    installation: Installation
    folder: Path
    epoch: float
    random: Random
    count: int = 0
    """The faults so far, also those before the run was resumed."""
    only: tuple[str, ...] = ()
    is_migrated: bool = True
    """Whether the schema is of this version; the run may begin with the one before."""
    exits: list[Exit] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """What went wrong with the injection or the repair of faults."""
    busy: set[str] = field(default_factory=set)
    is_over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def kinds(self) -> dict[str, int]:
        """Return the faults that can be injected here, with their weights."""
        skipped = set(self.installation.skipped)
        if self.installation.kafka is None:
            skipped |= OF_KAFKA
        return {
            kind: weight for kind, weight in WEIGHTS.items() if kind not in skipped and kind in (self.only or WEIGHTS)
        }

    def choose(self) -> tuple[str, str]:
        """Return a kind of fault and a target by chance."""
        kinds = self.kinds()
        (kind,) = self.random.choices(list(kinds), weights=list(kinds.values()))
        return kind, self.random.choice(self._targets(kind))

    def inject(self, kind: str, target: str) -> bool:
        """Inject a fault, hold it, repair it and record it; False if the target has one already."""
        if not self._take(target):
            return False
        try:
            with self._recorded(kind, target) as detail:
                getattr(self, f"_{kind}")(target, detail)
        except Exception as error:  # noqa: BLE001 - a run of an hour goes on, and its report tells of it
            self.broken.append(f"{kind} of {target} at {self.now():.1f}: {type(error).__name__}: {error}"[:1000])
        finally:
            self.busy.discard(target)
        return True

    def supervise(self) -> None:
        """Start processes again that have ended by themselves, and PostgreSQL, which a full disk may end."""
        for name in self.installation.fallen():
            if self._take(name):
                if name in self.installation.fallen():
                    self.exits.append(self.installation.exit_of(name, self.now()))
                    self.installation.fleet.restart(name)
                self.busy.discard(name)
        if not self.installation.postgres.runs() and self._take("postgres"):
            if not self.installation.postgres.runs():
                self.installation.restart_postgres()
            self.busy.discard("postgres")

    def finish_upgrade(self) -> None:
        """Replace the processes that are of the version before, and bring the schema to this one."""
        self.installation.migrate()
        self.is_migrated = True
        for name in self.installation.fleet.members:
            if self.installation.is_before(name):
                self.replace(name, is_before=False)

    def note_resume(self) -> None:
        """Record that the run was killed with all its processes."""
        with self._recorded("kill", "all", is_counted=False) as detail:
            detail["why"] = "the run was killed and resumed"

    def now(self) -> float:
        """Return the seconds since the trace began."""
        return time.monotonic() - self.epoch

    # -- faults of processes

    def _kill(self, name: str, detail: dict[str, Any]) -> None:
        detail["pid"] = self.installation.fleet.kill(name)
        self._hold(self.random.uniform(0.1, 4.0))
        self.installation.fleet.restart(name)

    def _stop(self, name: str, detail: dict[str, Any]) -> None:
        detail["pid"] = pid = self.installation.fleet.members[name].pid
        os.kill(pid, signal.SIGSTOP)
        self._hold(self.random.uniform(*STOP_SECONDS))
        os.kill(pid, signal.SIGCONT)

    def _clock(self, name: str, detail: dict[str, Any]) -> None:
        detail["seconds"] = seconds = round(self.random.choice([-1, 1]) * 10 ** self.random.uniform(0, 3.6), 1)
        self.installation.clocks.step(name, seconds)
        self._hold(self.random.uniform(2.0, 15.0))
        self.installation.clocks.step(name, 0.0)

    def _upgrade(self, _target: str, detail: dict[str, Any]) -> None:
        """Replace the processes one by one: by this version at first, after its migration, then by either one.

        Not by one before that does not know of children: it would not tell a parent of their end (docs/adr/0060).
        """
        may_go_back = self.installation.before is not None and self.installation.before_has_children
        is_before = self.is_migrated and may_go_back and self.random.random() < 0.5
        detail["to"] = "before" if is_before else "now"
        if not self.is_migrated:
            self.installation.migrate()
            self.is_migrated = True
            detail["migrated_at"] = self.now()
        for name in self.installation.fleet.members:
            if self.is_over.is_set():
                return
            self.replace(name, is_before=is_before)
            self._hold(0.5)

    def replace(self, name: str, *, is_before: bool) -> None:
        """Stop a process in order and start it in one of the versions, unless it has another fault just now."""
        if not self._take(name):
            return
        try:
            with self._recorded("replace", name, is_counted=False) as detail:
                detail |= {"pid": self.installation.fleet.members[name].pid, "to": "before" if is_before else "now"}
                detail["status"] = self._terminate(name)
                self.installation.set_version(name, is_before=is_before)
                self.installation.fleet.restart(name)
        finally:
            self.busy.discard(name)

    def _terminate(self, name: str) -> int:
        """Stop a process in order and return its exit status; one that does not end in time is killed."""
        fleet = self.installation.fleet
        try:
            return fleet.terminate(name)
        except subprocess.TimeoutExpired:
            fleet.kill(name)
            return -signal.SIGKILL

    # -- faults of services

    def _flush(self, _target: str, _detail: dict[str, Any]) -> None:
        self.installation.flush_redis()

    def _restart_redis(self, _target: str, detail: dict[str, Any]) -> None:
        server = self.installation.fleet.redis
        detail["by"] = self.random.choice(["stop", "kill"])
        (server.stop if detail["by"] == "stop" else server.kill)()
        self._hold(self.random.uniform(0.0, 5.0))
        self.installation.restart_redis()

    def _restart_postgres(self, _target: str, _detail: dict[str, Any]) -> None:
        def end() -> None:
            self.installation.postgres.stop()
            self.installation.unsynced.forget()  # it has synced everything before it stopped

        self._down(end)

    def _crash_postgres(self, _target: str, _detail: dict[str, Any]) -> None:
        self._down(self.installation.postgres.crash)

    def _power_loss(self, _target: str, detail: dict[str, Any]) -> None:
        """Kill every process of the server, and drop what it has written and not synced."""

        def end() -> None:
            self.installation.postgres.kill()
            if self.installation.unsynced.reason is None:
                detail["undone"], detail["unsynced"] = self.installation.unsynced.drop(self.random)

        self._down(end)

    def _down(self, end: Callable[[], None]) -> None:
        end()
        self._hold(self.random.uniform(0.0, 3.0))
        self.installation.restart_postgres()

    def _disk_full(self, _target: str, _detail: dict[str, Any]) -> None:
        disk = self.installation.disk
        disk.fill()
        self._hold(self.random.uniform(2.0, 8.0))
        disk.heal()
        if not self.installation.postgres.runs():
            self.installation.restart_postgres()

    def _pause_kafka(self, _target: str, _detail: dict[str, Any]) -> None:
        assert self.installation.kafka is not None
        self.installation.kafka.freeze()
        self._hold(self.random.uniform(1.0, 15.0))
        self.installation.kafka.thaw()

    def _kill_kafka(self, _target: str, _detail: dict[str, Any]) -> None:
        assert self.installation.kafka is not None
        self.installation.kafka.kill()
        self._hold(self.random.uniform(0.0, 3.0))
        self.installation.restart_kafka()

    # -- faults of wires

    def _cut(self, wire: str, _detail: dict[str, Any]) -> None:
        """Reset what is open, and refuse what is new."""
        name = wire.removesuffix("-wire")
        self.installation.wires.do(name, _refuse)
        self._hold(self.random.uniform(0.0, 6.0))
        self.installation.wires.do(name, Proxy.heal)

    def _half_open(self, wire: str, _detail: dict[str, Any]) -> None:
        """Let nothing pass with connections open, then reset these."""
        name = wire.removesuffix("-wire")
        self.installation.wires.do(name, Proxy.stall)
        self._hold(self.random.uniform(0.5, 12.0))
        self.installation.wires.do(name, _reset)

    def _delay(self, wire: str, detail: dict[str, Any]) -> None:
        name = wire.removesuffix("-wire")
        detail["seconds"] = seconds = round(10 ** self.random.uniform(-2.5, -0.3), 4)
        self.installation.wires.do(name, lambda proxy: proxy.delay(seconds))
        self._hold(self.random.uniform(1.0, 8.0))
        self.installation.wires.do(name, Proxy.heal)

    def _lose_reply(self, wire: str, _detail: dict[str, Any]) -> None:
        """Let questions pass and be answered, and drop the answers with their connections."""
        name = wire.removesuffix("-wire")
        self.installation.wires.do(name, Proxy.hold_answers)
        self._hold(self.random.uniform(0.05, 3.0))
        self.installation.wires.do(name, _reset)

    # -- the rest

    def _targets(self, kind: str) -> list[str]:
        if kind in OF_PROCESSES:
            return list(self.installation.fleet.members)
        if kind in OF_WIRES:
            return [f"{name}-wire" for name in WIRES]
        if kind in OF_POSTGRES:
            return ["postgres"]
        if kind in OF_REDIS:
            return ["redis"]
        return ["kafka"] if kind in OF_KAFKA else ["all"]

    def _take(self, target: str) -> bool:
        with self._lock:
            if target in self.busy:
                return False
            self.busy.add(target)
            return True

    def _hold(self, seconds: float) -> None:
        self.is_over.wait(seconds)

    @contextmanager
    def _recorded(self, kind: str, target: str, *, is_counted: bool = True) -> Iterator[dict[str, Any]]:
        """Record a fault when it begins, and again when it has been repaired: the run may be killed in between."""
        with self._lock:
            self.count += is_counted
            number = time.monotonic_ns()
        detail: dict[str, Any] = {"id": number}
        at = self.now()
        self._append(Fault(at=at, kind=kind, target=target, detail=detail))
        try:
            yield detail
        finally:
            self._append(Fault(at=at, kind=kind, target=target, until=self.now(), detail=detail))

    def _append(self, fault: Fault) -> None:
        with self._lock, (self.folder / "faults.jsonl").open("ab") as file:
            file.write(msgspec.json.encode(fault) + b"\n")


def _refuse(proxy: Proxy) -> None:
    proxy.refuse()
    proxy.reset()


def _reset(proxy: Proxy) -> None:
    proxy.reset()
    proxy.heal()
