"""Movers that are killed between any two steps, clients, workers and slots that move on, in an order drawn from a seed.

After every step: nothing is active in two places, every reader finds what there is, and no change that was
acknowledged is lost. In the end everything is where its slot is.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from random import Random

import pytest

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import slot_of
from drumline.core.state import Act, State
from drumline.core.task import TaskView
from drumline.ports.control import Change
from drumline.ports.drain import Copy, TakeOut
from drumline.ports.store import Changed
from drumline.shards.drain import Drain
from drumline.shards.forwarding import Forwarding
from drumline.shards.shard_set import Shard
from tests.factories import claim, open_session, settle, submit
from tests.job_factories import job_of, submit_job
from tests.shards.world import NAMES, World, opened

STEPS = 120


@pytest.fixture
async def world(shard_urls: tuple[str, ...]) -> AsyncIterator[World]:
    async with opened(shard_urls) as made:
        for name, url in zip(NAMES[1:], shard_urls[1:], strict=True):
            await made.service.add(name, store_url=url)
        yield made


class Race:
    """Tasks, and a job, that are moved about; and what is known of them."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = Random(seed)
        self.tasks: list[TaskId] = []
        self.roots: list[str] = []
        self.leases: dict[TaskId, tuple[Shard, Lease]] = {}
        self.known: dict[TaskId, tuple[State | None, int | None]] = {}
        """The state and the due time that somebody was told of, where nothing else has happened since."""
        self.movers: list[AsyncGenerator[None, None]] = []

    async def begin(self) -> None:
        store = self.world.shards.directory.store
        self.tasks = [await submit(store) for _ in range(3)]
        self.roots = list(self.tasks)
        job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
        self.tasks += job.tasks.values()
        self.roots.append(job.id)
        self.sessions = {shard.name: await open_session(shard.store) for shard in self.world.shards}
        await self.move_slots()

    async def step(self) -> None:
        """Let something happen."""
        choices = [self.go_on] * 8 + [self.kill, self.move_slots, self.act, self.act, self.run, self.end, self.end]
        await self.random.choice(choices)()
        await self.check()

    async def move_slots(self) -> None:
        taker = self.random.choice(NAMES)
        slots = {slot_of(root) for root in self.random.sample(self.roots, 2)}
        await self.world.service.mover.move(dict.fromkeys(slots, taker))

    async def go_on(self) -> None:
        """Let a mover do one transaction."""
        while len(self.movers) < 3:
            self.movers.append(self.mover())
        mover = self.random.choice(self.movers)
        try:
            await anext(mover)
        except StopAsyncIteration:
            self.movers.remove(mover)

    async def kill(self) -> None:
        if self.movers:
            mover = self.movers.pop(self.random.randrange(len(self.movers)))
            await mover.aclose()

    async def mover(self) -> AsyncGenerator[None, None]:
        """Move something: the steps of `Drain`, one by one."""
        shards = self.world.shards
        giver, taker = (shards.named(name) for name in self.random.sample(NAMES, 2))
        copies = [copy for copy in await taker.store.drainage.copies(limit=10) if copy.giver == giver.name]
        yield
        if not copies or self.random.random() < 0.5:
            ids = [id_ for id_ in self.roots if shards.map.entry(slot_of(id_)).shard == taker.name]
            units = await giver.store.drainage.read(ids)
            yield
            kept = await taker.store.drainage.put_copies(giver.name, units)
            copies = [Copy(unit.id, giver.name, unit.version, unit.digest) for unit in units if unit.id in kept]
            yield
        answers = await giver.store.drainage.take_out(taker.name, copies)
        yield
        done = [(copy.id, copy.version) for copy in copies if answers[copy.id] is TakeOut.DONE]
        await taker.store.drainage.activate(done)
        yield
        await taker.store.drainage.discard([copy for copy in copies if answers[copy.id] is TakeOut.REFUSED])

    async def place(self, task: TaskId) -> Shard:
        moved = await Forwarding(self.world.shards).forwarded([task])
        return moved.get(task) or self.world.shards.of(task)

    async def act(self) -> None:
        """Let a client change a task, wherever it is."""
        task = self.random.choice(self.tasks)
        shard = await self.place(task)
        what = self.random.choice(("cancel", "retry", "reschedule", "reschedule"))
        if what == "reschedule":
            due_at = Instant(self.random.randrange(10**12))
            (answer,) = await shard.store.control.reschedule([Change(task=task, run_at=due_at)])
            self.note(task, answer, State.QUEUED, due_at)
        elif what == "retry":
            (answer,) = await shard.store.control.retry([task])
            self.note(task, answer, None, None)
        else:
            (answer,) = await shard.store.control.cancel([task])
            self.note(task, answer, None, None)

    def note(self, task: TaskId, answer: object, state: State | None, due_at: int | None) -> None:
        if isinstance(answer, Changed):
            self.known = {} if task in self.tasks[3:] else self.known  # others of the job may change with it
            self.known[task] = (answer.state if state is None else state, due_at)

    async def run(self) -> None:
        """Let a worker claim something in one of the shards."""
        shard = self.world.shards.named(self.random.choice(NAMES))
        for task in await claim(shard.store, self.sessions[shard.name], limit=1):
            assert task.lease.task not in self.leases or self.leases[task.lease.task][1].epoch < task.lease.epoch
            self.leases[task.lease.task] = (shard, task.lease)
            self.known[task.lease.task] = (State.RUNNING, None)

    async def end(self) -> None:
        """Let a worker settle."""
        if not self.leases:
            return
        task = self.random.choice(sorted(self.leases))
        shard, lease = self.leases.pop(task)
        act = self.random.choice((Act.COMPLETE, Act.BACK_OFF, Act.BACK_OFF))
        view = await self.active(task)
        (_, found) = view if view is not None else (None, None)
        if found is not None and found.state is State.RUNNING and found.epoch == lease.epoch:
            self.known = {} if task in self.tasks[3:] else self.known
            settled = await settle(shard.store, lease, act)
            self.known[task] = (settled.state, None)

    async def active(self, task: TaskId) -> tuple[Shard, TaskView] | None:
        places = [
            (shard, view) for shard in self.world.shards for view in await shard.store.queries.get([task]) if view
        ]
        assert len(places) < 2, f"{task} is active in two places"
        return places[0] if places else None

    async def check(self) -> None:
        for task in self.tasks:
            place = await self.active(task)
            await self.find(task, None if place is None else place[0].name)
            state, due_at = self.known.get(task, (None, None))
            if place is not None and state is not None:
                assert place[1].state is state, task
                assert due_at is None or place[1].due_at == due_at, task

    async def find(self, task: TaskId, active: str | None) -> None:
        """Follow forwarding rows as a reader does, without activating anything."""
        name, version, seen = self.world.shards.map.holder(task), None, set[tuple[str, int | None]]()
        while name != active:
            assert (name, version) not in seen, "a reader goes round in circles"
            seen.add((name, version))
            drainage = self.world.shards.named(name).store.drainage
            forward = next(iter(await drainage.forwards([task])), None)
            copies = {copy.id: copy.version + 1 for copy in await drainage.copies(limit=100)}
            root = task if task in self.roots else self.roots[-1]
            if version is not None and copies.get(root) == version:
                return
            assert forward is not None, f"a reader gets 404 for {task} at {name}"
            name, version = forward.shard, forward.version

    async def settle_down(self) -> None:
        """Let everything go on without faults."""
        for mover in self.movers:
            await mover.aclose()
        for task, (shard, lease) in self.leases.items():
            place = await self.active(task)
            if place is not None and place[1].state is State.RUNNING and place[1].epoch == lease.epoch:
                await settle(shard.store, lease, Act.COMPLETE)
        drain = Drain(self.world.shards)
        for _ in range(3):
            for shard in self.world.shards:
                await drain.advance(shard, limit=10)
        for root, task in zip([*self.roots[:3], self.roots[3], self.roots[3]], self.tasks, strict=True):
            place = await self.active(task)
            assert place is not None
            assert place[0].name == self.world.shards.map.entry(slot_of(root)).shard
        for shard in self.world.shards:
            assert await shard.store.drainage.copies(limit=10) == []


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_is_lost_or_doubled_whoever_dies_in_between(world: World, seed: int) -> None:
    race = Race(world, seed)
    await race.begin()
    for _ in range(STEPS):
        await race.step()
    await race.settle_down()
    assert world.shards.map.holder(race.tasks[0]) == DIRECTORY
