"""The world of a simulation: the servers, schedulers and workers of an installation, and what lies between them.

Every process runs the product's own code, put together as `lifecycle/processes.py` does it. Simulated are the loop,
the clocks, the database server, the queue server, and the wires.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, NamedTuple, cast

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.lease import Lease
from drumline.core.metrics import Metrics
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.engine.options import EngineOptions
from drumline.lifecycle.processes import hear
from drumline.ports.gateway import Gateway
from drumline.ports.queue import Queue, SweptQueue
from drumline.remote.gateway import RemoteGateway
from drumline.scheduler.bulk import BulkDuty
from drumline.scheduler.depth import DepthSampler
from drumline.scheduler.duty import Duty, Rounds
from drumline.scheduler.expire import Expirer
from drumline.scheduler.fire import Firer
from drumline.scheduler.prune import Pruner
from drumline.scheduler.prune_events import EventPruner
from drumline.scheduler.queue_metrics import QueueMetrics
from drumline.scheduler.reap import Reaper
from drumline.scheduler.relay import Relay, RelayOptions
from drumline.scheduler.ripple import Ripple
from drumline.scheduler.sort import Sorter
from drumline.scheduler.stats import StatsCounter
from drumline.scheduler.sweep import Sweeper
from drumline.scheduler.tidy import Tidier
from drumline.settings import Settings
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from drumline.testing.clock import SimulatedClock
from drumline.testing.database import DatabaseServer, FaultyWire, SimulatedDatabase
from drumline.testing.loop import SimulatedLoop, SimulatedProcess
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import Worker
from tests.evidence.trace import Fault, Line
from tests.simulation.network import Network, WorkerTransport
from tests.simulation.notifying import notifier_duties
from tests.simulation.outside import Broker, Receiver, SimulatedBus
from tests.simulation.plan import Plan
from tests.simulation.queue import QueueServer, SimulatedQueue
from tests.simulation.tasks import executors_of
from tests.simulation.watch import watch
from tests.simulation.witness import WitnessedGateway

KEY = "sk_live_simulated_key_of_the_first_administrator"
RESTART_AFTER = 2.0
"""Seconds until a supervisor starts a process again that has died, at most."""
SETTINGS = Settings()


class Refusal(NamedTuple):
    """A report of a worker that was answered with `Fenced`."""

    at: float
    worker: str
    task: str
    epoch: int
    nonce: int


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
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    main: "asyncio.Task[None] | None" = None


class World:
    """The installation, and the record of what happened to it."""

    def __init__(self, plan: Plan, loop: SimulatedLoop) -> None:
        self.plan = plan
        self.loop = loop
        self.trace: list[Line] = []
        self.problems: list[str] = []
        self.random = Random(f"world {plan.seed}")
        self.database = DatabaseServer()
        self.database.refused = lambda error: self.problems.append(f"the database refused a transaction: {error!r}")
        watch(self.database.connection, loop)
        self.refusals: list[Refusal] = []
        self.true_clock = SimulatedClock(loop)
        self.queue_server = QueueServer(loop, Random(f"queue {plan.seed}"), self.true_clock)
        self.members: dict[str, Member] = {}
        self.killed: list[Callable[[SimulatedProcess], None]] = []
        """Called with each process that is killed."""
        self.network = Network(self)
        self.receiver = Receiver(loop, Random(f"receiver {plan.seed}"))
        self.broker = Broker(loop, Random(f"broker {plan.seed}"))
        self.is_quiet = False
        """Whether the faults are over."""

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
        before = member.process
        member.process = SimulatedProcess(
            f"{name}.{member.starts}", clock_offset=before.clock_offset, clock_drift=before.clock_drift
        )
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
        member.stop = asyncio.Event()
        member.app = None
        runs: dict[str, Callable[[Member], Coroutine[Any, Any, None]]] = {
            "api": self._run_server,
            "scheduler": self._run_scheduler,
            "worker": self._run_worker,
            "notifier": self._run_notifier,
        }
        member.main = self.loop.start(member.process, runs[member.kind](member), name=member.process.name)
        member.main.add_done_callback(lambda main: self._note_end(member.name, main))

    def _note_end(self, name: str, main: "asyncio.Task[None]") -> None:
        if not main.cancelled() and (error := main.exception()) is not None:
            self.problems.append(f"{name} ended by {error!r}")

    def _engine(self, member: Member) -> tuple[Engine, SweptQueue | None]:
        clock = SimulatedClock(self.loop, member.process)
        store = SqliteStore(SimulatedDatabase(self.database, member.wire), self.true_clock)
        swept = SimulatedQueue(self.queue_server, member.process) if self.plan.fleet.has_queue else None
        queue: Queue = NoQueue() if swept is None else swept
        return Engine(store, queue, EngineOptions(clock=clock)), swept

    async def _run_server(self, member: Member) -> None:
        engine, _ = self._engine(member)
        member.app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="simulated"), stop=member.stop)
        await hear(engine)(member.stop)
        member.app = None
        await engine.close()

    async def _run_scheduler(self, member: Member) -> None:
        engine, swept = self._engine(member)
        clock = SimulatedClock(self.loop, member.process)
        async with asyncio.TaskGroup() as group:
            for duty in self._duties(engine, swept, clock):
                group.create_task(Rounds(duty, metrics=engine.metrics).run(member.stop), name=duty.name)
        await engine.close()

    def _duties(self, engine: Engine, swept: SweptQueue | None, clock: SimulatedClock) -> list[Duty]:
        """Return the duties of a scheduler; those that seldom find anything pass less often than in an installation."""
        store, settings = engine.store, SETTINGS
        duties: list[Duty] = [
            Reaper(engine, clock=clock, poison_after=settings.poison_after),
            Firer(engine.firings, clock=clock.monotonic),
            Expirer(engine, every=2.0),
            BulkDuty(engine, clock=clock, retention=timedelta(days=1), every=1.5),
            Ripple(engine, every=3.0),
            Sorter(engine, every=2.0),
        ]
        if swept is not None:
            duties.append(Sweeper(store, swept, metrics=engine.metrics))
        extra: dict[str, Callable[[], Duty]] = {
            "prune": lambda: Pruner(store, retention=settings.retention),
            "prune_events": lambda: EventPruner(store, retention=settings.events.retention, rows=settings.events.rows),
            "tidy": lambda: Tidier(store, clock=clock),
            "stats": lambda: StatsCounter(store, metrics=engine.metrics),
            "depth": lambda: DepthSampler(store.stats, clock=clock),
            "queue_metrics": lambda: QueueMetrics(store, engine.metrics, clock=clock),
        }
        if self.plan.fleet.has_bus:
            options = RelayOptions(source="simulated", metrics=engine.metrics, clock=clock, every=1.0)
            duties.append(Relay(store, SimulatedBus(self.broker), options))
        return duties + [extra[name]() for name in self.plan.fleet.extra_duties]

    async def _run_notifier(self, member: Member) -> None:
        engine, _ = self._engine(member)
        async with asyncio.TaskGroup() as group:
            for duty in notifier_duties(engine, self.receiver, SimulatedClock(self.loop, member.process)):
                group.create_task(Rounds(duty, metrics=engine.metrics).run(member.stop), name=duty.name)
        await engine.close()

    def _witnessed(self, gateway: Gateway, member: Member) -> Gateway:
        """Return a gateway that notes refused reports."""
        name = member.process.name

        def refused(lease: Lease) -> None:
            self.refusals.append(Refusal(self.now, name, lease.task, lease.epoch, lease.nonce))

        return cast("Gateway", WitnessedGateway(gateway, refused))

    async def _run_worker(self, member: Member) -> None:
        fleet = self.plan.fleet
        if int(member.name.removeprefix("worker")) >= fleet.workers - fleet.remote_workers:
            await self._run_remote_worker(member)
            return
        engine, _ = self._engine(member)
        worker = self._worker(member, gateway_of(engine), engine.metrics)
        hearing = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(_completed(hear(engine)(hearing)), name="hear")
            await worker.run(member.stop)
            hearing.set()
        await engine.close()

    async def _run_remote_worker(self, member: Member) -> None:
        transport = WorkerTransport(self.network, member, is_old=self.plan.fleet.has_old_servers)
        async with RemoteGateway("http://drumline", api_key=KEY, transport=transport) as gateway:
            await self._worker(member, gateway, Metrics()).run(member.stop)

    def _worker(self, member: Member, gateway: Gateway, metrics: Metrics) -> Worker:
        fleet = self.plan.fleet
        options = WorkerOptions(
            capacity=fleet.capacity, grace=5.0, label=member.process.name,
            tenant=fleet.tenants[0] if member.name == fleet.bound_worker else None,
        )  # fmt: skip
        return Worker(
            self._witnessed(gateway, member), executors_of(self), options,
            clock=SimulatedClock(self.loop, member.process), metrics=metrics,
        )  # fmt: skip


async def _completed(work: Awaitable[None]) -> None:
    await work
