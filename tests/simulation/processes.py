"""The processes of a simulated installation, each put together as `lifecycle/processes.py` does it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, cast

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.lease import Lease
from drumline.core.metrics import Metrics
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.engine.options import EngineOptions
from drumline.lifecycle.processes import hear
from drumline.lifecycle.shard_services import following_shards, for_each_shard
from drumline.ports.gateway import Gateway
from drumline.ports.queue import Queue, SweptQueue
from drumline.remote.gateway import RemoteGateway
from drumline.scheduler.bulk import BulkDuty
from drumline.scheduler.children import ChildNotes
from drumline.scheduler.depth import DepthSampler
from drumline.scheduler.duty import Duty, Rounds
from drumline.scheduler.expire import Expirer
from drumline.scheduler.fire import Firer
from drumline.scheduler.moves import MoveKeeper
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
from drumline.scheduler.waits import WaitExchange
from drumline.settings import Settings
from drumline.shards.forwarding import Forwarding
from drumline.shards.shard_set import ShardSet
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from drumline.testing.clock import SimulatedClock
from drumline.testing.database import SimulatedDatabase
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import Worker
from tests.simulation.families import NAME
from tests.simulation.network import WorkerTransport
from tests.simulation.notifying import notifier_duties
from tests.simulation.outside import SimulatedBus
from tests.simulation.queue import SimulatedQueue
from tests.simulation.shards import open_front
from tests.simulation.tasks import executors_of
from tests.simulation.witness import Refusal, WitnessedGateway

if TYPE_CHECKING:
    from tests.simulation.world import Member, World

KEY = "sk_live_simulated_key_of_the_first_administrator"
SETTINGS = Settings()
SELDOM = 8.0
"""Seconds between two passes of a duty for which a plan has no work."""


class Assembled(NamedTuple):
    """What a process has opened."""

    engine: Engine
    swept: SweptQueue | None = None
    shards: ShardSet | None = None
    """The shards behind the engine, where there are several."""


class Processes:
    """Runs the processes of a world."""

    def __init__(self, world: "World") -> None:
        self._world = world

    async def run(self, member: "Member") -> None:
        """Run a process until it is told to stop."""
        match member.kind:
            case "api":
                await self._run_server(member)
            case "scheduler":
                await self._run_scheduler(member)
            case "notifier":
                await self._run_notifier(member)
            case _:
                await self._run_worker(member)

    async def _assemble(self, member: "Member") -> Assembled:
        world = self._world
        options = EngineOptions(clock=self._clock(member))
        if world.databases.others:
            front = await open_front(world.databases, member.wire, options, world.true_clock)
            return Assembled(front, None, front.shard_set)
        store = SqliteStore(SimulatedDatabase(world.database, member.wire), world.true_clock)
        swept = SimulatedQueue(world.queue_server, member.process) if world.plan.fleet.has_queue else None
        queue: Queue = NoQueue() if swept is None else swept
        return Assembled(Engine(store, queue, options), swept)

    def _clock(self, member: "Member") -> SimulatedClock:
        return SimulatedClock(self._world.loop, member.process)

    async def _run_server(self, member: "Member") -> None:
        opened = await self._assemble(member)
        app = create_app(opened.engine, keys=ConfiguredKeys([KEY]), info=Info(version="simulated"), stop=member.stop)
        member.app = app
        async with asyncio.TaskGroup() as group:
            _keep_in_touch(group, opened, member.stop)
        member.app = None
        await opened.engine.close()

    async def _run_scheduler(self, member: "Member") -> None:
        opened = await self._assemble(member)
        engine, shards, clock = opened.engine, opened.shards, self._clock(member)
        async with asyncio.TaskGroup() as group:
            if shards is None:
                for duty in self._duties(engine, opened.swept, clock):
                    group.create_task(Rounds(duty, metrics=engine.metrics).run(member.stop), name=duty.name)
            else:
                _keep_in_touch(group, opened, member.stop)
                of_each = for_each_shard(
                    shards,
                    lambda shard: {duty.name: Rounds(duty).run for duty in self._duties(shard.engine, None, clock)},
                )
                group.create_task(_completed(of_each(member.stop)), name="duties")
                for between in (MoveKeeper(shards, every=4.0), _waits_between(shards)):
                    group.create_task(Rounds(between).run(member.stop), name=between.name)
        await engine.close()

    def _duties(self, engine: Engine, swept: SweptQueue | None, clock: SimulatedClock) -> list[Duty]:
        """Return the duties of a scheduler; those that seldom find anything pass less often than in an installation."""
        store, settings, fleet = engine.store, SETTINGS, self._world.plan.fleet
        has = {step.what for step in self._world.plan.steps}

        def every(seconds: float, *, is_needed: bool) -> float:
            return seconds if is_needed else SELDOM

        duties: list[Duty] = [
            Reaper(engine, clock=clock, poison_after=settings.poison_after),
            Expirer(engine, every=2.0),
            BulkDuty(engine, clock=clock, retention=timedelta(days=1), every=every(1.5, is_needed="bulk" in has)),
        ]
        if any(step.body.get("name") == NAME for step in self._world.plan.steps):
            duties.append(ChildNotes(engine))
        duties.append(Ripple(engine, every=every(3.0, is_needed="job" in has)))
        if not fleet.shards:
            fires = every(1.0, is_needed="schedule" in has)
            duties += [
                Firer(engine.firings, clock=clock.monotonic, every=fires),
                Sorter(engine, every=every(2.0, is_needed=fleet.limit is not None)),
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
        if fleet.has_bus:
            options = RelayOptions(source="simulated", metrics=engine.metrics, clock=clock, every=1.0)
            duties.append(Relay(store, SimulatedBus(self._world.broker), options))
        return duties + [extra[name]() for name in fleet.extra_duties]

    async def _run_notifier(self, member: "Member") -> None:
        engine = (await self._assemble(member)).engine
        async with asyncio.TaskGroup() as group:
            for duty in notifier_duties(engine, self._world.receiver, self._clock(member)):
                group.create_task(Rounds(duty, metrics=engine.metrics).run(member.stop), name=duty.name)
        await engine.close()

    async def _run_worker(self, member: "Member") -> None:
        fleet = self._world.plan.fleet
        if int(member.name.removeprefix("worker")) >= fleet.workers - fleet.remote_workers:
            await self._run_remote_worker(member)
            return
        opened = await self._assemble(member)
        worker = self._worker(member, gateway_of(opened.engine), opened.engine.metrics)
        hearing = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            _keep_in_touch(group, opened, hearing)
            await worker.run(member.stop)
            hearing.set()
        await opened.engine.close()

    async def _run_remote_worker(self, member: "Member") -> None:
        world = self._world
        transport = WorkerTransport(world.network, member, is_old=world.plan.fleet.has_old_servers)
        async with RemoteGateway("http://drumline", api_key=KEY, transport=transport) as gateway:
            await self._worker(member, gateway, Metrics()).run(member.stop)

    def _worker(self, member: "Member", gateway: Gateway, metrics: Metrics) -> Worker:
        fleet = self._world.plan.fleet
        options = WorkerOptions(
            capacity=fleet.capacity, grace=5.0, label=member.process.name,
            tenant=fleet.tenants[0] if member.name == fleet.bound_worker else None,
        )  # fmt: skip
        return Worker(
            self._witnessed(gateway, member), executors_of(self._world), options, clock=self._clock(member),
            metrics=metrics,
        )  # fmt: skip

    def _witnessed(self, gateway: Gateway, member: "Member") -> Gateway:
        """Return a gateway that notes refused reports."""
        world, name = self._world, member.process.name

        def refused(lease: Lease) -> None:
            world.refusals.append(Refusal(world.now, name, lease.task, lease.epoch, lease.nonce))

        return cast("Gateway", WitnessedGateway(gateway, refused))


def _waits_between(shards: ShardSet) -> Duty:
    return WaitExchange(shards, forwarded=Forwarding(shards).forwarded)


def _keep_in_touch(group: asyncio.TaskGroup, opened: Assembled, stop: asyncio.Event) -> None:
    """Let a process hear wake-ups, and follow the map where there is one."""
    group.create_task(_completed(hear(opened.engine)(stop)), name="hear")
    if opened.shards is not None:
        group.create_task(_completed(following_shards(opened.shards)(stop)), name="shards")


async def _completed(work: Awaitable[None]) -> None:
    await work
