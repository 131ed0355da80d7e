"""Limits under races on a real server: many processes with connections of their own, and limits set meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import asyncpg
import pytest

from drumline.core.flow import LimitRequest, accept_limit
from drumline.core.state import Act
from drumline.ports.store import Settlement
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_request, open_session, submit

PROCESSES = 5
MOST = 3
NAMES = ("work", "other", "third")
LEASES = 60
SECONDS = 30.0
"""So many leases are enough, and so long it may take on a busy machine."""


@pytest.fixture
async def stores(store: PostgresStore, postgres_url: str) -> AsyncIterator[list[PostgresStore]]:
    opened = [store, *[await PostgresStore.open(postgres_url) for _ in range(PROCESSES - 1)]]
    yield opened
    await asyncio.gather(*[each.close() for each in opened[1:]])


class Progress:
    """How many leases were given so far."""

    def __init__(self) -> None:
        self.leases = 0

    @property
    def is_enough(self) -> bool:
        return self.leases >= LEASES


async def most_leases(url: str, progress: Progress) -> int:
    """Look at the leases themselves, past all bookkeeping, and return the most there were at once."""
    connection = await asyncpg.connect(url)
    most = 0
    try:
        while not progress.is_enough:
            most = max(most, await connection.fetchval("SELECT count(*) FROM drumline.task_live WHERE state = 2"))
            await asyncio.sleep(0.002)
    finally:
        await connection.close()
    return most


async def work(store: PostgresStore, seed: int, progress: Progress) -> None:
    """Claim, and end leases in every way there is. Not all can run the same: they meet only in the limit."""
    random = Random(seed)
    name = NAMES[seed % len(NAMES)]
    session = await open_session(store, name)
    while not progress.is_enough:
        (answer,) = await store.claim([claim_request(session, name, limit=random.choice([1, 2, 5]), limited=True)])
        progress.leases += len(answer.tasks)
        await asyncio.sleep(random.random() * 0.01)
        if random.random() < 0.15:  # it dies, and all that it holds is taken from it
            while session not in (await store.sessions.reap([(session, 0)], poison_after=1000)).sessions:
                pass  # another is reaping
            session = await open_session(store, name)
        else:
            acts = [random.choice([Act.COMPLETE, Act.RELEASE, Act.SNOOZE]) for _ in answer.tasks]
            ends = [Settlement(lease=task.lease, act=act) for task, act in zip(answer.tasks, acts, strict=True)]
            await store.settle(ends)
    await store.sessions.close_session(session)


async def test_many_processes_never_exceed_a_limit_and_never_stop_below_it(
    stores: list[PostgresStore], postgres_url: str
) -> None:
    store = stores[0]
    await store.limits.set_limit(
        accept_limit("few", LimitRequest(queue="default", max_concurrent=MOST), tenant="default")
    )
    for number in range(300):
        await submit(store, NAMES[number % len(NAMES)])
    progress = Progress()

    async with asyncio.timeout(SECONDS):
        most, *_ = await asyncio.gather(
            most_leases(postgres_url, progress), *[work(each, seed, progress) for seed, each in enumerate(stores)]
        )

    assert most == MOST
    # Nobody holds anything now: all the slots are there to be had.
    await store.sessions.reap([], poison_after=1000)
    ada = await open_session(store, *NAMES)
    (answer,) = await store.claim([claim_request(ada, *NAMES, limit=50, limited=True)])
    assert len(answer.tasks) == MOST


async def test_a_limit_that_is_set_amid_claims_counts_all_that_runs(stores: list[PostgresStore]) -> None:
    store = stores[0]
    for _ in range(300):
        await submit(store)
    ada = await open_session(store)
    began = asyncio.Event()

    async def claim_on(each: PostgresStore) -> int:
        taken = 0
        while True:
            (answer,) = await each.claim([claim_request(ada, limit=1)])
            if not answer.tasks:
                return taken
            taken += 1
            if taken == 5:
                began.set()

    claimers = [asyncio.create_task(claim_on(each)) for each in stores]
    await began.wait()
    limit, _ = await store.limits.set_limit(
        accept_limit("few", LimitRequest(task="work", max_concurrent=299), tenant="default")
    )
    taken = sum(await asyncio.gather(*claimers))

    assert 5 <= taken < 300, "the limit came too late to be met"
    assert await store.limits.running_under([limit.id]) == {limit.id: taken}
