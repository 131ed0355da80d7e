"""The installation inside a world: a database, a scheduler, a worker, and the engine that clients ask.

Each process runs the product's own code, put together as `lifecycle/processes.py` does it. A process that is killed
leaves behind what it had committed, and nothing else.
"""

import asyncio
from collections.abc import Sequence
from contextvars import Context, copy_context
from datetime import timedelta
from typing import Final

from drumline.core.metrics import Metrics
from drumline.engine.endings import Endings
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.engine.options import EngineOptions
from drumline.lifecycle.apps import App
from drumline.lifecycle.processes import hear
from drumline.scheduler.bulk import BulkDuty
from drumline.scheduler.children import ChildNotes
from drumline.scheduler.duty import Duty, Rounds
from drumline.scheduler.expire import Expirer
from drumline.scheduler.fire import Firer
from drumline.scheduler.reap import Reaper
from drumline.scheduler.ripple import Ripple
from drumline.scheduler.sort import Sorter
from drumline.settings import Settings
from drumline.stores.sqlite import SqliteStore
from drumline.testing.database import DatabaseServer, SimulatedDatabase, Wire
from drumline.testing.functions import Interruptions, executors_of
from drumline.testing.loop import PROCESS, SimulatedProcess
from drumline.testing.wiring import Faults, ReliableWire, WakeUps, WakingQueue, WorldClock, WorldWire
from drumline.testing.world_loop import WorldLoop
from drumline.worker.capture import abandon_capture
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import Worker

CAPACITY: Final = 1_000
"""Attempts that the worker executes at once."""
POLL: Final = 3_600.0
"""Seconds between looks for tasks without a wake-up: here no wake-up is lost."""
RETENTION: Final = timedelta(days=1)


class WorkerProcess:
    """A worker in a simulated process of its own."""

    def __init__(self, name: str) -> None:
        self.process = SimulatedProcess(name)
        self.stop = asyncio.Event()
        self.hurry = asyncio.Event()
        self.worker: Worker | None = None
        self.main: asyncio.Task[None] | None = None


class Installation:
    """The processes of a world, on its loop."""

    def __init__(
        self,
        loop: WorldLoop,
        apps: Sequence[App],
        *,
        faults: Faults,
        interruptions: Interruptions,
    ) -> None:
        self.loop = loop
        self.apps = apps
        self.database = DatabaseServer()
        self.clock = WorldClock(loop, skips=False)
        self.wake_ups = WakeUps()
        self.fire_now, self.expire_now = asyncio.Event(), asyncio.Event()
        """Let the scheduler look for due schedules and expired tasks at once."""
        self.outside: Context = copy_context()
        """The context of code that belongs to no process."""
        self.outside.run(PROCESS.set, None)
        self.worker: WorkerProcess | None = None
        self._faults = faults
        self._interruptions = interruptions
        self._endings = Endings()
        self._workers = 0
        self._scheduler = SimulatedProcess("scheduler")
        self.engine = self._engine(ReliableWire(), "clients", self.clock)

    async def start(self) -> None:
        """Start the scheduler and a worker, and wait until the worker can take tasks."""
        self.loop.start(self._scheduler, self._run_scheduler(), name="scheduler")
        await self.start_worker()

    async def start_worker(self) -> None:
        """Start a worker, and wait until it can take tasks."""
        self._workers += 1
        started = WorkerProcess(f"worker {self._workers}")
        self.worker = started
        started.main = self.loop.start(started.process, self._run_worker(started), name=started.process.name)
        while started.process.is_alive and (started.worker is None or started.worker.session is None):
            if started.main.done():
                started.main.result()  # raises what kept it from starting
            await asyncio.sleep(0)

    def kill_worker(self) -> SimulatedProcess | None:
        """Kill the worker between two of its steps, and return its process; None if there is no worker."""
        killed, self.worker = self.worker, None
        if killed is None:
            return None
        self.wake_ups.listeners.pop(killed.process, None)
        self.loop.kill(killed.process)
        if killed.worker is not None:
            abandon_capture()
        return killed.process

    async def stop(self) -> None:
        """Stop the worker in order, kill the scheduler, and close the engine of the clients."""
        worker = self.worker
        if worker is not None and worker.main is not None:
            worker.stop.set()
            worker.hurry.set()
            await asyncio.wait({worker.main})
        self.loop.kill(self._scheduler)
        await self.engine.close()

    # -- processes

    def _engine(self, wire: Wire, key: object, clock: WorldClock) -> Engine:
        # The store of every process goes by the true time, as a database server's does.
        store = SqliteStore(SimulatedDatabase(self.database, wire), self.clock)
        options = EngineOptions(clock=clock, endings=self._endings, poll=POLL)
        return Engine(store, WakingQueue(self.wake_ups, key), options)

    async def _run_worker(self, started: WorkerProcess) -> None:
        clock = WorldClock(self.loop)
        engine = self._engine(WorldWire(started.process, self._faults), started.process, clock)
        executors = executors_of(self.apps, clock=self.clock, interruptions=self._interruptions)
        options = WorkerOptions(capacity=CAPACITY, label=started.process.name)
        worker = Worker(gateway_of(engine), executors, options, clock=clock, metrics=engine.metrics)
        hearing = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(_hear(engine, hearing), name="hear")
            started.worker = worker
            try:
                await worker.run(started.stop, started.hurry)
            finally:
                hearing.set()
        await engine.close()

    async def _run_scheduler(self) -> None:
        clock = WorldClock(self.loop)
        engine = self._engine(ReliableWire(), self._scheduler, clock)
        never = asyncio.Event()
        duties: list[Duty] = [
            Reaper(engine, clock=clock, poison_after=Settings().poison_after),
            BulkDuty(engine, clock=clock, retention=RETENTION),
            Ripple(engine),
            ChildNotes(engine),
            Sorter(engine),
        ]
        async with asyncio.TaskGroup() as group:
            for duty in duties:
                group.create_task(Rounds(duty, metrics=engine.metrics, random=_no_jitter).run(never), name=duty.name)
            firer = Firer(engine.firings, clock=clock.monotonic)
            group.create_task(_punctual(firer, self.fire_now, engine.metrics), name=firer.name)
            expirer = Expirer(engine)
            group.create_task(_punctual(expirer, self.expire_now, engine.metrics), name=expirer.name)


async def _punctual(duty: Duty, now: asyncio.Event, metrics: Metrics) -> None:
    """Do a duty as often as in production; when the world has skipped time, at once."""
    rounds = Rounds(duty, metrics=metrics, random=_no_jitter)
    while True:
        await rounds.pass_safely()
        try:
            async with asyncio.timeout(rounds.pause()):
                await now.wait()
        except TimeoutError:
            continue
        now.clear()


async def _hear(engine: Engine, until: asyncio.Event) -> None:
    await hear(engine)(until)


def _no_jitter() -> float:
    return 0.0
