"""A bulk operation over several databases is stored in all that have tasks of it, or nothing goes on."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest

from drumline.core.bulk import BulkAct, BulkId, BulkPlan, BulkState, BulkView, NewBulk
from drumline.core.errors import Unavailable
from drumline.core.ids import TaskId
from drumline.core.slots import SLOTS
from drumline.core.state import State
from drumline.core.task import Submitted, accept
from drumline.ports.bulk import Bulks
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.shards.store import ShardedStore
from drumline.stores.postgres.statements import SQL
from tests.factories import new_id, request, state_of, submit
from tests.postgres.polling import until
from tests.shards.world import World, opened


@pytest.fixture
async def world(shard_urls: tuple[str, ...]) -> AsyncIterator[World]:
    async with opened(shard_urls[:2]) as made:
        await made.service.add("pg2", store_url=shard_urls[1])
        yield made


class WithoutAnswer:
    """Bulk operations of a database that stores one, and whose answer does not arrive."""

    def __init__(self, own: Bulks) -> None:
        self._own = own
        self.is_stored = asyncio.Event()
        self.is_lost = True

    def __getattr__(self, name: str) -> object:
        """Return everything else as the database has it."""
        return getattr(self._own, name)

    async def begin_bulk(
        self, bulk: NewBulk, *, which: DeadLetterFilter | None = None, tasks: Sequence[TaskId] = (), most: int
    ) -> BulkView:
        """Store an operation, and lose the answer, or never give it."""
        await self._own.begin_bulk(bulk, which=which, tasks=tasks, most=most)
        self.is_stored.set()
        if not self.is_lost:
            await asyncio.Event().wait()
        raise Unavailable("the connection was lost")


async def tasks_of_both(world: World) -> list[TaskId]:
    """Submit a task to each of two databases."""
    first = await submit(world.shards.directory.store)
    await world.service.mover.move(dict.fromkeys(range(SLOTS), "pg2"))
    made = world.ids.next(None)
    second = await world.router.join(accept(request(), id=made, tenant="default", slot_version=1))
    assert isinstance(second, Submitted)
    return [first, second.id]


@pytest.mark.parametrize("what", ["lost", "cancelled"])
async def test_nothing_goes_on_in_a_database_whose_answer_did_not_arrive(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    tasks = await tasks_of_both(world)
    store = world.shards.named("pg2").store
    silent = WithoutAnswer(store.bulks)
    silent.is_lost = what == "lost"
    monkeypatch.setattr(store, "bulks", silent)
    bulk = NewBulk(id=BulkId(new_id()), tenant=None, act=BulkAct.CANCEL, plan=BulkPlan())
    whole = ShardedStore(world.shards).bulks

    beginning = asyncio.create_task(whole.begin_bulk(bulk, tasks=tasks, most=5))
    await silent.is_stored.wait()
    if what == "cancelled":
        beginning.cancel()
    with pytest.raises(Unavailable if what == "lost" else asyncio.CancelledError):
        await beginning

    assert (await whole.get_bulk(bulk.id)).state is BulkState.ABORTED
    assert await whole.running_bulks() == []
    assert [await state_of(shard.store, task) for shard, task in zip(world.shards, tasks, strict=True)] == [
        State.QUEUED,
        State.QUEUED,
    ]


async def test_taking_back_waits_for_a_transaction_that_is_still_storing(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    store = world.shards.directory.store
    bulk = BulkId(new_id())
    connection = await asyncpg.connect(shard_urls[0])

    async def is_waiting() -> bool:
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        return bool(await connection.fetchval(waiting))

    async with connection.transaction():
        await connection.execute(SQL["exclude_moves"].text)
        values = "($1, 'cancel', '{}', 'running', 1, 0, 0)"
        columns = "(id, act, request, state, total, tokens_at, created_at)"
        await connection.execute(f"INSERT INTO drumline.bulk {columns} VALUES {values}", bulk)
        taking_back = asyncio.create_task(store.bulks.take_back_bulk(bulk))
        await until(is_waiting)
    await taking_back
    await connection.close()

    assert (await store.bulks.get_bulk(bulk)).state is BulkState.ABORTED
