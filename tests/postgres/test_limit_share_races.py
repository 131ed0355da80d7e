"""Limits over three databases while tasks start and end, limits change, and movers of shares die between two steps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product
from random import Random
from typing import Any

import asyncpg
import pytest

from drumline.core.flow import LimitRequest, accept_limit
from drumline.core.limit_shares import Amount, Gift
from drumline.core.shard_map import DIRECTORY
from drumline.core.state import Act
from drumline.core.task import ClaimedTask
from drumline.engine.limit_shares import ShareMover
from drumline.ports.store import Settlement
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.connection import Connection
from tests.factories import claim_request, open_session, submit
from tests.postgres.limit_shards import Given, mover_of, open_shards, set_limit, total
from tests.postgres.polling import until

Shards = dict[str, PostgresStore]

SECONDS = 90.0
"""So long it may take on a busy machine."""
TASKS = 40
"""In each database."""


@pytest.fixture
async def shards(shard_urls: tuple[str, ...]) -> AsyncIterator[Shards]:
    opened = await open_shards(shard_urls)
    yield opened
    for each in opened.values():
        await each.close()


class Died(Exception):
    """The end of a mover."""


class MortalShares:
    """The shares of a database, as a mover sees them that dies at random: before a step, or after it."""

    def __init__(self, store: PostgresStore, random: Random) -> None:
        self._shares = store.limit_shares
        self._random = random

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        step = getattr(self._shares, name)

        async def mortal(*given: Any, **named: Any) -> Any:
            chance = self._random.random()
            if chance < 0.06:
                raise Died
            answer = await step(*given, **named)
            if chance > 0.94:
                raise Died
            return answer

        return mortal


class Watch:
    """What workers hold at each moment, over all databases, and the most that it may be."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.held = 0
        self.completed = 0
        self.most = 0
        self.exceeded: list[tuple[int, int]] = []

    def took(self, count: int) -> None:
        """Note tasks that a worker has been given."""
        self.held += count
        self.most = max(self.most, self.held)
        if self.held > self.bound:
            self.exceeded.append((self.held, self.bound))


WatchOf = Callable[[ClaimedTask], Watch]


async def work(store: PostgresStore, watch_of: WatchOf, random: Random, done: Callable[[], bool]) -> None:
    """Claim under limits, hold for a moment, and end in one way or another."""
    session = await open_session(store)
    while not done():
        (answer,) = await store.claim([claim_request(session, limit=random.choice([1, 2, 5]), limited=True)])
        for task in answer.tasks:
            watch_of(task).took(1)
        await asyncio.sleep(random.random() * 0.02)
        ends = [
            Settlement(lease=task.lease, act=random.choice([Act.COMPLETE, Act.COMPLETE, Act.RELEASE]))
            for task in answer.tasks
        ]
        for task in answer.tasks:
            watch_of(task).held -= 1
        await store.settle(ends)
        for task, end in zip(answer.tasks, ends, strict=True):
            watch_of(task).completed += end.act is Act.COMPLETE


async def move(shards: Shards, random: Random, done: Callable[[], bool]) -> int:
    """Move shares, dying and beginning anew; return how often it died."""
    mortal = {name: MortalShares(store, random) for name, store in shards.items()}
    deaths = 0
    while not done():
        mover = ShareMover(Given(mortal))
        try:
            await mover.pass_once(thorough=random.random() < 0.2)
        except Died:
            deaths += 1
        await asyncio.sleep(random.random() * 0.01)
    return deaths


async def change_limit(shards: Shards, watch: Watch, random: Random, done: Callable[[], bool]) -> None:
    """Raise and lower the limit. A lower one is in force when the directory has given back what it had not."""
    directory = shards[DIRECTORY]
    while not done():
        await asyncio.sleep(random.random() * 0.3)
        most = random.choice([1, 2, 3, 6])
        watch.bound = max(watch.bound, most)
        wanted = accept_limit("few", LimitRequest(task="work", max_concurrent=most), tenant="default")
        limit, _ = await directory.limits.set_limit(wanted)
        while not done():
            (holding,) = await directory.limit_shares.holdings([(limit.id, None)])
            if holding.share.running >= max(holding.used.running, 0):
                watch.bound = most
                break
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("seed", range(4))
async def test_no_more_run_over_all_databases_than_the_limit_allows_whoever_dies(shards: Shards, seed: int) -> None:
    random = Random(seed)
    watch = Watch(3)
    limit = await set_limit(shards, task="work", max_concurrent=3)
    for store in shards.values():
        for _ in range(TASKS):
            await submit(store)

    def done() -> bool:
        return watch.completed >= TASKS * len(shards)

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        movers = [group.create_task(move(shards, Random(seed * 10 + number), done)) for number in range(2)]
        for store in shards.values():
            for number in range(2):
                group.create_task(work(store, lambda _: watch, Random(seed * 100 + number), done))
        group.create_task(change_limit(shards, watch, random, done))

    assert watch.exceeded == []
    assert watch.most > 1
    assert sum(mover.result() for mover in movers) > 0
    await mover_of(shards).spread()
    ((_, most),) = [(each.id, each.max_concurrent) for each in await shards[DIRECTORY].limits.limits()]
    assert await total(shards, limit.id) == Amount(most or 0, 0)


@pytest.mark.parametrize("seed", range(2))
async def test_no_more_start_in_any_period_than_the_rate_allows_whoever_dies(
    shards: Shards, shard_urls: tuple[str, ...], seed: int
) -> None:
    rate, count = 4, 8
    watch = Watch(1000)
    limit = await set_limit(shards, task="work", rate=f"{rate}/s")
    for store in shards.values():
        for _ in range(count):
            await submit(store)

    def done() -> bool:
        return watch.completed >= count * len(shards)

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for number in range(2):
            group.create_task(move(shards, Random(seed * 10 + number), done))
        for store in shards.values():
            group.create_task(work(store, lambda _: watch, Random(seed), done))

    starts = sorted(await _starts(shard_urls))
    assert len(starts) >= count * len(shards)
    assert [late - early for early, late in zip(starts, starts[rate:], strict=False) if late - early < 1000] == []
    assert await total(shards, limit.id) == Amount(0, rate)


@pytest.mark.parametrize("seed", range(2))
async def test_keys_are_never_run_more_often_at_once_than_their_limit_whoever_dies(shards: Shards, seed: int) -> None:
    keys = ("ada", "bob", "cyd")
    watches = {key: Watch(2) for key in keys}
    limit = await set_limit(shards, task="work", max_concurrent=2, key="limit_key")
    for store, key, _ in product(shards.values(), keys, range(8)):
        await submit(store, limit_key=key)
    left = 8 * len(keys) * len(shards)

    def done() -> bool:
        return sum(watch.completed for watch in watches.values()) >= left

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for number in range(2):
            group.create_task(move(shards, Random(seed * 10 + number), done))
        for store in shards.values():
            group.create_task(work(store, lambda task: watches[task.options.limit_key or ""], Random(seed), done))

    assert {key: watch.exceeded for key, watch in watches.items()} == {key: [] for key in keys}
    for key in keys:
        assert await total(shards, limit.id, key) == Amount(2, 0)


async def _starts(urls: tuple[str, ...]) -> list[int]:
    """Return when tasks were started, from the attempts themselves: the databases have one clock."""
    found: list[int] = []
    for url in urls:
        connection = await asyncpg.connect(url)
        found += [at for (at,) in await connection.fetch("SELECT started_at FROM drumline.attempt")]
        await connection.close()
    return found


async def test_whoever_gives_waits_for_a_claim_under_way_and_counts_what_it_took(
    shards: Shards, shard_urls: tuple[str, ...]
) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=2)
    main = shards[DIRECTORY]
    other = await asyncpg.connect(shard_urls[0])
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    gift = Gift(taker="pg2", limit=limit.id, key=None, amount=Amount(2))
    try:
        transaction = other.transaction()
        await transaction.start()
        await other.execute("SELECT FROM drumline.flow_limit FOR UPDATE")  # as a claim does
        giving = asyncio.create_task(main.limit_shares.give([gift]))
        await until(lambda: is_blocked(other, blocked))
        await other.execute(
            """
            WITH started AS (
                INSERT INTO drumline.task_live (id, lane, state, epoch)
                SELECT gen_random_uuid(), 1, 2, 1 FROM generate_series(1, 2)
                RETURNING id
            )
            INSERT INTO drumline.slot (limit_id, limit_key, task_id, epoch, started_at)
            SELECT $1, 0, id, 1, 1 FROM started
            """.replace("$1", str(limit.id))
        )
        await transaction.commit()

        assert await giving == 0
    finally:
        await other.close()


async def is_blocked(connection: Connection, question: str) -> bool:
    return bool(await connection.fetchval(question))
