"""What a simulation does, as data: its processes, the operations of clients and the faults, each with its time.

A plan is made from a seed, or read from a file. One that fails is stored as it is, so that it can be repeated when the
generator has changed, and shrunk by leaving out operations and faults.
"""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operation of a client."""

    at: float
    label: str
    """Its name in the run; tasks that it submits bear it in their payload."""
    what: str
    """`submit`, `batch`, `job`, `schedule`, `cancel`, `retry`, `read`, `pause`, `resume`, `bulk` …"""
    client: str = "ada"
    tenant: str = ""
    """The tenant that it is done for, if not the default one."""
    about: str | None = None
    """The label of the earlier step that it is about."""
    body: dict[str, Any] = {}


class FaultStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fault: what happens to whom, and for how long."""

    at: float
    kind: str
    """`kill`, `cut`, `lose`, `slow`, `clock`, `drift`, `stop`, `flush`, `freeze`, `jumble`, `refuse`."""
    target: str
    seconds: float = 0.0
    amount: float = 0.0


class Fleet(Struct, frozen=True, kw_only=True):
    """How many processes of each kind there are, and whether they have a queue with hints."""

    servers: int = 1
    schedulers: int = 1
    workers: int = 2
    capacity: int = 4
    has_queue: bool = True
    limit: int | None = None
    """Tasks named `limited` that may run at once, if they are under a limit."""
    extra_duties: tuple[str, ...] = ()
    remote_workers: int = 0
    """How many of the workers reach the servers by HTTP."""
    has_old_servers: bool = False
    """Whether the servers answer remote workers as those of an earlier version do."""
    tenants: tuple[str, ...] = ()
    """Tenants besides the default one; the first worker of several works for the first of them alone."""
    shards: tuple[str, ...] = ()
    """Databases besides the directory."""
    notifiers: int = 0
    has_bus: bool = False
    """Whether schedulers copy the log of events to a Kafka."""

    @property
    def bound_worker(self) -> str | None:
        """The worker that works for one tenant alone, if there is one."""
        return "worker0" if self.tenants and self.workers - self.remote_workers > 1 else None


class Plan(Struct, frozen=True, kw_only=True):
    """A whole run."""

    seed: int
    fleet: Fleet
    steps: tuple[Step, ...]
    faults: tuple[FaultStep, ...]

    @property
    def size(self) -> int:
        """The number of its events."""
        return len(self.steps) + len(self.faults)


def save(plan: Plan, path: Path) -> None:
    """Write a plan."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")


def load(path: Path) -> Plan:
    """Read a plan."""
    return msgspec.json.decode(path.read_bytes(), type=Plan)
