"""Pruning and tidying wait for nobody, and miss nothing by that."""

import asyncio

import asyncpg

from drumline.core.clock import LATEST, Instant
from drumline.stores.postgres import PostgresStore
from tests.factories import claim, open_session, submit
from tests.postgres.polling import until

EVER = Instant(LATEST)
"""A time before which whatever has ended has ended."""


async def test_a_task_that_somebody_acts_on_is_passed_over_and_pruned_later(
    store: PostgresStore, postgres_url: str
) -> None:
    tasks = [await submit(store) for _ in range(5)]
    await store.control.cancel(tasks)
    somebody = await asyncpg.connect(postgres_url)
    await somebody.execute("BEGIN")
    await somebody.execute("SELECT FROM drumline.task WHERE id = $1 FOR UPDATE", tasks[1])

    async with asyncio.timeout(10):
        meanwhile = [await store.prune(ended_before=EVER, limit=2) for _ in range(3)]
    await somebody.execute("COMMIT")
    await somebody.close()
    left = await store.queries.get(tasks)
    later = await store.prune(ended_before=EVER, limit=2)

    assert (meanwhile, later) == ([2, 2, 0], 1)
    assert [view.id for view in left if view is not None] == [tasks[1]]


async def test_two_schedulers_prune_side_by_side_and_leave_nothing(store: PostgresStore, other: PostgresStore) -> None:
    tasks = [await submit(store) for _ in range(200)]
    await store.control.cancel(tasks)

    async def prune(where: PostgresStore) -> int:
        pruned = 0
        while count := await where.prune(ended_before=EVER, limit=10):
            pruned += count
        return pruned

    async with asyncio.timeout(30):
        counts = await asyncio.gather(prune(store), prune(other))
    rest = await prune(store)

    assert sum(counts) + rest == len(tasks)
    assert await store.queries.get(tasks) == [None] * len(tasks)


async def test_the_room_of_tasks_that_have_ended_is_used_again(store: PostgresStore, postgres_url: str) -> None:
    async def size() -> int:
        return int(await connection.fetchval("SELECT pg_relation_size('drumline.task_live')"))

    async def come_and_go() -> None:
        await store.control.cancel([await submit(store) for _ in range(500)])

    connection = await asyncpg.connect(postgres_url)
    waiting = await submit(store)
    await come_and_go()
    await until(lambda: store.tidy(dead=400))
    once = await size()
    await come_and_go()
    again = await size()
    await connection.close()

    assert again == once
    assert [each.lease.task for each in await claim(store, await open_session(store))] == [waiting]


async def test_a_few_dead_rows_are_left_to_autovacuum(store: PostgresStore) -> None:
    await store.control.cancel([await submit(store) for _ in range(10)])

    assert not await store.tidy(dead=1_000_000)
