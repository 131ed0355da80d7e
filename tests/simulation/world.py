"""The world of a simulation: the servers, schedulers and workers of an installation, and what lies between them.

Every process runs the product's own code (`processes.py`). Simulated are the loop, the clocks, the database servers,
the queue server, and the wires.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from random import Random
from sqlite3 import Connection
from typing import Any

from drumline.aio.events import StopEvent
from drumline.testing.clock import SimulatedClock
from drumline.testing.database import DatabaseServer, FaultyWire
from drumline.testing.loop import SimulatedLoop, SimulatedProcess
from tests.evidence.trace import Fault, Line
from tests.simulation.durable import Effect
from tests.simulation.network import Network
from tests.simulation.outside import Broker, Receiver
from tests.simulation.plan import Plan
from tests.simulation.processes import Processes
from tests.simulation.queue import QueueServer
from tests.simulation.shards import Databases
from tests.simulation.watch import watch
from tests.simulation.witness import Refusal

RESTART_AFTER = 2.0
"""Seconds until a supervisor starts a process again that has died, at most."""


@dataclass
class Member:
    """A place in the fleet: the process that has it now, and what later ones inherit."""

    name: str
    kind: str
    wire: FaultyWire
    process: SimulatedProcess
    starts: int = 1
    app: Any = None
    """The ASGI application, if it is a server that has started."""
    stop: StopEvent = field(default_factory=StopEvent)
    main: "asyncio.Task[None] | None" = None


class World:
    """The installation, and the record of what happened to it."""

    def __init__(self, plan: Plan, loop: SimulatedLoop) -> None:
        self.plan = plan
        self.loop = loop
        self.trace: list[Line] = []
        self.problems: list[str] = []
        self.random = Random(f"world {plan.seed}")
        self.databases = Databases(loop, plan.fleet.shards)
        for server in self.databases.servers.values():
            server.refused = lambda error: self.problems.append(f"the database refused a transaction: {error!r}")
            watch(server.connection, loop)
        self.refusals: list[Refusal] = []
        self.effects: list[Effect] = []
        """What steps of durable tasks did outside."""
        self.true_clock = SimulatedClock(loop)
        self.queue_server = QueueServer(loop, Random(f"queue {plan.seed}"), self.true_clock)
        self.members: dict[str, Member] = {}
        self._processes = Processes(self)
        self.killed: list[Callable[[SimulatedProcess], None]] = []
        """Called with each process that is killed."""
        self.network = Network(self)
        self.receiver = Receiver(loop, Random(f"receiver {plan.seed}"))
        self.broker = Broker(loop, Random(f"broker {plan.seed}"))
        self.is_quiet = False
        """Whether the faults are over."""

    @property
    def database(self) -> DatabaseServer:
        """The database, or the directory among several."""
        return self.databases.main

    @property
    def connections(self) -> list[Connection]:
        """The connections of all databases."""
        return [server.connection for server in self.databases.servers.values()]

    @property
    def now(self) -> float:
        """Virtual seconds since the beginning."""
        return round(self.loop.time(), 6)

    def start_all(self) -> None:
        """Start every process."""
        fleet = self.plan.fleet
        kinds = (
            ("api", fleet.servers), ("scheduler", fleet.schedulers), ("worker", fleet.workers),
            ("notifier", fleet.notifiers),
        )  # fmt: skip
        for kind, count in kinds:
            for number in range(count):
                name = f"{kind}{number}"
                wire = FaultyWire(Random(f"wire {name} {self.plan.seed}"))
                member = Member(name, kind, wire, SimulatedProcess(f"{name}.1"))
                self.members[name] = member
                self._start(member)

    def kill(self, name: str) -> None:
        """Kill a process, and have it started again a little later."""
        member = self.members[name]
        if not member.process.is_alive:
            return
        self.loop.kill(member.process)
        self.queue_server.listeners.pop(member.process.name, None)
        for tell in self.killed:
            tell(member.process)
        # In a context of its own: a task may kill the process that it runs in, whose callbacks run no more.
        self.loop.call_later(self.random.uniform(0.1, RESTART_AFTER), self.restart, name, context=Context())

    def restart(self, name: str) -> None:
        """Start a process in the place of one that has ended."""
        member = self.members[name]
        member.starts += 1
        before, now = member.process, self.loop.time()
        # The machine is the same: its wall clock shows what it would have shown.
        member.process = SimulatedProcess(
            f"{name}.{member.starts}", clock_offset=before.clock_offset + before.gained(now)
        )
        member.process.drift(before.clock_drift, now)
        self._start(member)

    def stop_in_order(self, name: str) -> None:
        """Ask a process to stop, as SIGTERM does; it is started again when it has ended."""
        member = self.members[name]
        if not member.process.is_alive or member.main is None:
            return
        process = member.process
        member.stop.set()

        def ended(_main: object) -> None:
            if process.is_alive and member.process is process:
                self.loop.kill(process)
                self.restart(name)

        member.main.add_done_callback(ended)

    def note_fault(self, kind: str, target: str, *, until: float | None = None, **detail: Any) -> None:
        """Record a fault."""
        self.trace.append(Fault(at=self.now, kind=kind, target=target, until=until, detail=detail))

    def _start(self, member: Member) -> None:
        member.stop = StopEvent()
        member.app = None
        member.main = self.loop.start(member.process, self._processes.run(member), name=member.process.name)
        member.main.add_done_callback(lambda main: self._note_end(member.name, main))

    def _note_end(self, name: str, main: "asyncio.Task[None]") -> None:
        if not main.cancelled() and (error := main.exception()) is not None:
            self.problems.append(f"{name} ended by {error!r}")
