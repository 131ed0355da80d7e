"""Jobs that wait for each other while slots move, and movers that may die take the jobs after them."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.accept_job import with_new_ids
from drumline.core.ids import JobId
from drumline.core.slots import slot_of
from drumline.ports.drain import Copy, TakeOut
from drumline.ports.jobs import SubmittedJob
from drumline.scheduler.exchange import WaitShard
from drumline.scheduler.waits import WaitExchange
from drumline.shards.forwarding import Forwarding
from drumline.shards.job_router import JobRouter
from drumline.stores.postgres import PostgresStore
from tests.job_factories import job_of
from tests.postgres.shards import NAMES, Process, join_all
from tests.wait_world import Place, Places, World


class MovingWorld(World):
    """The same jobs, each in a slot of its own: all in the directory at first, later anywhere."""

    def __init__(self, process: Process, seed: int) -> None:
        super().__init__(process.stores, seed)
        self._process = process
        self._forwarding = Forwarding(process.shards)
        self._movers: list[AsyncGenerator[None, None]] = []
        self._left = self._random.randrange(100)

    def _choices(self) -> Sequence[Callable[[], Awaitable[None]]]:
        moves = [*[self._move_on] * 16, self._kill_mover, *[self._move_slot] * 3]
        self._left -= 1
        # At first nothing ends, so that waits change between near and far.
        return [*moves, *[self._let_some_go_on] * 8] if self._left > 0 else [*moves, *super()._choices()]

    async def settle_down(self) -> None:
        for mover in self._movers:
            await mover.aclose()
        await super().settle_down()

    async def _submit(self, job: str, needs: list[JobId]) -> JobId:
        ids = self._process.ids
        id_ = JobId(ids.next(1000 + len(self._ids)))
        new = with_new_ids(job_of({job: ()}, name=job, depends_on=needs), id=id_, tasks=ids.take_in(slot_of(id_), 1))
        answer = await JobRouter(self._process.shards, ids).join(replace(new, slot_version=ids.version(id_)))
        assert isinstance(answer, SubmittedJob)
        return answer.id

    async def _place_of(self, job: str) -> str:
        id_ = self._ids[job]
        moved = await self._forwarding.forwarded([id_])
        return (moved.get(id_) or self._process.shards.of(id_)).name

    def _exchange(self, stores: Mapping[str, Any]) -> WaitExchange:
        places = {name: Place(name, store, self._engines[name]) for name, store in stores.items()}
        shards = self._process.shards

        class ByMap(Places):
            def of(self, id: str, /) -> Place:
                return self._places[shards.of(id).name]

        async def forwarded(ids: Sequence[str]) -> Mapping[str, WaitShard]:
            moved = await self._forwarding.forwarded(ids)
            return {id_: places[shard.name] for id_, shard in moved.items()}

        return WaitExchange(ByMap(places, {}), forwarded=forwarded)

    async def _move_slot(self) -> None:
        job = self._random.choice(list(self._ids.values()))
        await self._process.move([slot_of(job)], self._random.choice(NAMES))

    async def _move_on(self) -> None:
        """Let a mover do one transaction."""
        while len(self._movers) < 2:
            self._movers.append(self._mover())
        mover = self._random.choice(self._movers)
        try:
            await anext(mover)
        except StopAsyncIteration:
            self._movers.remove(mover)

    async def _kill_mover(self) -> None:
        if self._movers:
            await self._movers.pop(self._random.randrange(len(self._movers))).aclose()

    async def _mover(self) -> AsyncGenerator[None, None]:
        """Move jobs that are not where their slots are: the steps of `Drain`, one by one."""
        entry = self._process.shards.map.entry
        giver_name, taker_name = self._random.sample(NAMES, 2)
        giver, taker = self._stores[giver_name].drainage, self._stores[taker_name].drainage
        copies = [copy for copy in await taker.copies(limit=10) if copy.giver == giver_name]
        yield
        if not copies:
            ids = [id_ for id_ in self._ids.values() if entry(slot_of(id_)).shard == taker_name]
            units = await giver.read(ids)
            yield
            kept = await taker.put_copies(giver_name, units)
            copies = [Copy(unit.id, giver_name, unit.version, unit.digest) for unit in units if unit.id in kept]
            yield
        answers = await giver.take_out(taker_name, copies)
        yield
        await taker.activate([(copy.id, copy.version) for copy in copies if answers[copy.id] is TakeOut.DONE])
        yield
        await taker.discard([copy for copy in copies if answers[copy.id] is TakeOut.REFUSED])


@pytest.fixture
async def process(shard_urls: tuple[str, ...]) -> AsyncIterator[Process]:
    stores = [await PostgresStore.open(url) for url in shard_urls]
    await join_all(stores)
    made = Process(stores)
    await made.shards.refresh()
    yield made
    for store in stores:
        await store.close()


@pytest.mark.parametrize("seed", range(8))
async def test_wherever_the_jobs_go_a_job_begins_once_after_all_have_completed(process: Process, seed: int) -> None:
    world = MovingWorld(process, seed)
    await world.begin()

    for _ in range(140):
        await world.step()

    await world.settle_down()
