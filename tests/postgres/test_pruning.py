"""Pruning waits for nobody, and misses nothing by that."""

import asyncio

import asyncpg

from drumline.backends.postgres import PostgresStore
from drumline.core.clock import LATEST, Instant
from tests.factories import submit

EVER = Instant(LATEST)
"""A time before which whatever has ended has ended."""


async def test_a_task_that_somebody_acts_on_is_passed_over_and_pruned_later(
    store: PostgresStore, postgres_url: str
) -> None:
    tasks = [await submit(store) for _ in range(5)]
    await store.cancel(tasks)
    somebody = await asyncpg.connect(postgres_url)
    await somebody.execute("BEGIN")
    await somebody.execute("SELECT FROM drumline.task WHERE id = $1 FOR UPDATE", tasks[1])

    async with asyncio.timeout(10):
        meanwhile = [await store.prune(ended_before=EVER, limit=2) for _ in range(3)]
    await somebody.execute("COMMIT")
    await somebody.close()
    left = await store.get(tasks)
    later = await store.prune(ended_before=EVER, limit=2)

    assert (meanwhile, later) == ([2, 2, 0], 1)
    assert [view.id for view in left if view is not None] == [tasks[1]]


async def test_two_schedulers_prune_side_by_side_and_leave_nothing(store: PostgresStore, other: PostgresStore) -> None:
    tasks = [await submit(store) for _ in range(200)]
    await store.cancel(tasks)

    async def prune(where: PostgresStore) -> int:
        pruned = 0
        while count := await where.prune(ended_before=EVER, limit=10):
            pruned += count
        return pruned

    async with asyncio.timeout(30):
        counts = await asyncio.gather(prune(store), prune(other))
    rest = await prune(store)

    assert sum(counts) + rest == len(tasks)
    assert await store.get(tasks) == [None] * len(tasks)
