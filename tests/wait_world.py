"""Five jobs in three databases that wait for each other, and processes that pass their ends on and may die at any step.

The order of the steps is drawn from a seed. After each one the world checks what must always hold; `settle_down` lets
all go on without faults, and checks that every job has come to its end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from drumline.core.ids import JobId, SessionId
from drumline.core.job import ENDED, JobStatus, JobView
from drumline.core.state import Act, State
from drumline.engine.engine import Engine
from drumline.ports.store import Store
from drumline.scheduler.waits import WaitExchange
from drumline.stores.no_queue import NoQueue
from tests.conformance.test_outbox import events_after
from tests.factories import claim, open_session, settle
from tests.job_factories import finish, job_of, job_view, states_in, submit_job

HOME = {"p0": "a", "p1": "c", "p2": "b", "w0": "b", "w1": "c"}
NEEDS: Mapping[str, Sequence[str]] = {"w0": ("p0", "p1", "p2"), "w1": ("w0", "p1")}
BAD = frozenset({JobStatus.FAILED, JobStatus.CANCELLED})
BAD_ENDS = 0.35
"""The share of ends that are failures."""


class Steps:
    """Calls of the processes that wait for their turn: each is a transaction, or some, in one database."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.under_way = 0
        self._is_idle = asyncio.Event()

    async def turn(self, call: Callable[[], Awaitable[Any]]) -> Any:
        future = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        try:
            await future
        finally:
            if future in self.waiting:
                self.waiting.remove(future)
        try:
            return await call()
        finally:
            self.under_way -= 1
            self._is_idle.set()

    def begin(self, future: "asyncio.Future[None]") -> None:
        self.waiting.remove(future)
        self.under_way += 1
        future.set_result(None)

    async def idle(self) -> None:
        """Wait until every process has ended or waits for a turn."""
        while self.under_way:
            self._is_idle.clear()
            await self._is_idle.wait()
        for _ in range(20):
            await asyncio.sleep(0)


class InTurn:
    """A part of a store whose methods wait for their turn."""

    def __init__(self, part: Any, steps: Steps) -> None:
        self._part = part
        self._steps = steps

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._part, name)
        return lambda *args, **options: self._steps.turn(lambda: method(*args, **options))


class Place(NamedTuple):
    """A shard, as the duty sees it."""

    name: str
    store: Store
    engine: Engine


class Places:
    """The shards, as the duty sees them."""

    def __init__(self, places: Mapping[str, Place], home: Mapping[str, str]) -> None:
        self._places = places
        self._home = home

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places.values())

    def of(self, id: str, /) -> Place:
        return self._places[self._home[id]]

    async def refresh(self) -> None:
        """Nothing moves here."""

    def is_away(self, _name: str, /) -> bool:
        return False

    def note_away(self, name: str, /) -> None:
        raise AssertionError(name)


class World:
    """The databases, the jobs and the processes."""

    def __init__(self, stores: Mapping[str, Store], seed: int) -> None:
        self._stores = stores
        self._random = Random(seed)
        self._steps = Steps()
        self._ids: dict[str, JobId] = {}
        self._sessions: dict[str, SessionId] = {}
        self._statuses: dict[str, JobStatus] = {}
        self._saw_failure: dict[str, bool] = {}
        self._acts_left = {"cancel": 2, "resume": 5, "kill": 6}
        self._engines = {name: Engine(store, NoQueue()) for name, store in stores.items()}
        self._processes: list[asyncio.Task[Any]] = []

    async def begin(self) -> None:
        """Submit the jobs, some of which wait, and start the processes."""
        self._sessions = {name: await open_session(store) for name, store in self._stores.items()}
        for job in HOME:
            self._ids[job] = await self._submit(job, [self._ids[need] for need in NEEDS.get(job, ())])
            self._statuses[job] = JobStatus.PENDING
            self._saw_failure[job] = False
        for _ in range(3):
            self._start()

    async def step(self) -> None:
        """Do one thing at random, and check that nothing is wrong after it."""
        await self._random.choice(self._choices())()
        await self._check()

    def _choices(self) -> Sequence[Callable[[], Awaitable[None]]]:
        acts = [self._end_one] * 3 + [self._resume_one] * 3 + [self._cancel_one, self._kill_one]
        return [self._let_some_go_on] * 12 + acts

    async def _submit(self, job: str, needs: list[JobId]) -> JobId:
        home = HOME[job]
        far = frozenset(self._ids[need] for need in NEEDS.get(job, ()) if HOME[need] != home)
        new = replace(job_of({job: ()}, name=job, depends_on=needs), elsewhere=far)
        return (await submit_job(self._stores[home], new)).id

    async def _place_of(self, job: str) -> str:
        """Return the database that a job is in."""
        return HOME[job]

    async def _store_of(self, job: str) -> Store:
        return self._stores[await self._place_of(job)]

    def _exchange(self, stores: Mapping[str, Any]) -> WaitExchange:
        return WaitExchange(self._places(stores))

    async def settle_down(self) -> None:
        """Let everything go on to its end without faults, and check how each job has ended."""
        for process in self._processes:
            process.cancel()
        await asyncio.gather(*self._processes, return_exceptions=True)
        exchange = self._exchange(self._stores)
        for _ in range(20):
            for job in HOME:
                await self._end(job, Act.COMPLETE)
            await self._check()
            await exchange.pass_once()
            await self._check()
            for store in self._stores.values():
                await store.jobs.ripple()
            await self._check()
        for engine in self._engines.values():
            await engine.effects.drained()
        for job, needs in NEEDS.items():
            is_spoilt = any(self._statuses[need] in BAD for need in needs)
            assert self._statuses[job] in (BAD if is_spoilt else ENDED), (job, self._statuses)
            assert await self._releases_of(job) <= 1, f"{job} began twice"
        for store in self._stores.values():
            assert await store.waits.unregistered(limit=9) == []
            assert await store.waits.ripples(limit=9) == []

    def _places(self, stores: Mapping[str, Any]) -> Places:
        places = {name: Place(name, cast("Store", store), self._engines[name]) for name, store in stores.items()}
        return Places(places, {id_: HOME[job] for job, id_ in self._ids.items()})

    def _start(self) -> None:
        in_turn = {
            name: SimpleNamespace(waits=InTurn(store.waits, self._steps)) for name, store in self._stores.items()
        }
        exchange = self._exchange(in_turn)
        jobs = [InTurn(store.jobs, self._steps) for store in self._stores.values()]

        async def process() -> None:
            while True:
                await asyncio.gather(exchange.pass_once(), *(each.ripple() for each in jobs))

        self._processes.append(asyncio.create_task(process()))

    async def _let_some_go_on(self) -> None:
        await self._steps.idle()
        waiting = self._steps.waiting
        for future in self._random.sample(waiting, min(len(waiting), self._random.choice((1, 1, 1, 2, 3)))):
            self._steps.begin(future)
        await self._steps.idle()

    async def _kill_one(self) -> None:
        if self._acts_left["kill"]:
            self._acts_left["kill"] -= 1
            process = self._processes.pop(self._random.randrange(len(self._processes)))
            process.cancel()
            await asyncio.gather(process, return_exceptions=True)
            self._start()

    async def _end_one(self) -> None:
        await self._end(self._random.choice(list(HOME)), Act.FAIL if self._random.random() < BAD_ENDS else Act.COMPLETE)

    async def _end(self, job: str, act: Act) -> None:
        """End the task of a job, if it can be claimed."""
        place = await self._place_of(job)
        store = self._stores[place]
        for task in await claim(store, self._sessions[place]):
            needs = NEEDS.get(task.options.key or "", ())
            assert all(self._statuses[need] is JobStatus.COMPLETED for need in needs), task.options.key
            await (finish(store, task, act) if task.options.key == job else settle(store, task.lease, Act.RELEASE))

    async def _resume_one(self) -> None:
        bad = [job for job, status in self._statuses.items() if status in BAD]
        if bad and self._acts_left["resume"]:
            self._acts_left["resume"] -= 1
            job = self._random.choice(bad)
            self._saw_failure[job] = any(self._statuses[need] in BAD for need in NEEDS.get(job, ()))
            await (await self._store_of(job)).jobs.resume_jobs([self._ids[job]])

    async def _cancel_one(self) -> None:
        if self._acts_left["cancel"]:
            self._acts_left["cancel"] -= 1
            job = self._random.choice(list(HOME))
            await (await self._store_of(job)).jobs.cancel_jobs([self._ids[job]])

    async def _check(self) -> None:
        before = dict(self._statuses)
        views = {job: await job_view(await self._store_of(job), id_) for job, id_ in self._ids.items()}
        self._statuses = {job: view.status for job, view in views.items()}
        for job, needs in NEEDS.items():
            if before[job] not in ENDED:
                self._saw_failure[job] |= any(self._statuses[need] in BAD for need in needs)
            await self._check_wait(job, views[job])

    async def _check_wait(self, job: str, view: JobView) -> None:
        assert view.waits_for >= 0
        if view.status is JobStatus.FAILED and not view.counts.failed:
            assert self._saw_failure[job], f"{job} failed by an end that was over when it began to wait"
        (state,) = (await states_in(await self._store_of(job), self._ids[job])).values()
        if state in {State.QUEUED, State.RUNNING, State.COMPLETED}:
            unfinished = [need for need in NEEDS[job] if self._statuses[need] is not JobStatus.COMPLETED]
            assert not unfinished, f"{job} began before {unfinished} had completed"

    async def _releases_of(self, job: str) -> int:
        """Return how often the job began."""
        (node,) = await (await self._store_of(job)).jobs.nodes(self._ids[job])
        events = [event for store in self._stores.values() for event in await events_after(store, 0)]
        return sum(event.subject == node.task and event.type.endswith(".unblocked") for event in events)
