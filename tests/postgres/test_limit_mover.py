"""The mover of shares: they come to where tasks wait, and a database that is away holds up nobody."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Unavailable
from drumline.core.flow import LimitRequest, accept_limit
from drumline.core.limit_shares import Amount
from drumline.core.shard_map import DIRECTORY
from drumline.core.state import Act
from drumline.core.wait_reasons import Cause
from drumline.engine.limit_shares import ShareMover
from drumline.engine.wait_reasons import WaitReasons
from drumline.scheduler.limit_shares import ASKING_SECONDS, LimitShares
from drumline.stores.postgres import PostgresStore
from tests.factories import open_session, settle, submit
from tests.postgres.limit_shards import Given, claim_limited, mover_of, open_shards, set_limit, total

Shards = dict[str, PostgresStore]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def shards(shard_urls: tuple[str, ...], clock: ManualClock) -> AsyncIterator[Shards]:
    opened = await open_shards(shard_urls, clock)
    yield opened
    for each in opened.values():
        await each.close()


class Away:
    """A database that cannot be reached."""

    def __getattr__(self, name: str) -> Any:
        async def refuse(*_given: Any, **_named: Any) -> None:
            raise Unavailable("it is away")

        return refuse


async def shares(shards: Shards, limit: int, key: str | None = None) -> list[int]:
    found = [await store.limit_shares.holdings([(limit, key)]) for store in shards.values()]
    return [holding.share.running for (holding,) in found]


async def test_shares_come_to_where_tasks_wait(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=5)
    for _ in range(3):
        await submit(shards["pg2"])

    assert await LimitShares(mover_of(shards)).pass_once() == 1

    assert await shares(shards, limit.id) == [2, 3, 0]
    assert len(await claim_limited(shards["pg2"], await open_session(shards["pg2"]))) == 3
    assert await mover_of(shards).pass_once() == 0


async def test_shares_of_keys_come_to_where_their_tasks_wait(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=1, key="limit_key")
    for key, name in (("ada", "pg2"), ("bob", "pg3"), ("cyd", "main")):
        await submit(shards[name], limit_key=key)
    for store in shards.values():
        await store.limits.sort_keys(most=100)  # as the duty of that name does

    assert await mover_of(shards).pass_once() == 2

    assert await shares(shards, limit.id, "ada") == [0, 1, 0]
    assert await shares(shards, limit.id, "bob") == [0, 0, 1]
    assert await shares(shards, limit.id, "cyd") == [1, 0, 0]


async def test_a_database_that_is_always_full_gives_when_a_task_of_it_ends(shards: Shards) -> None:
    await set_limit(shards, task="work", max_concurrent=2)
    main, other = shards["main"], shards["pg2"]
    for store in (main, other):
        for _ in range(6):
            await submit(store)
    ada, bob = await open_session(main), await open_session(other)
    held = await claim_limited(main, ada)
    mover = mover_of(shards)

    duty = LimitShares(mover)
    assert (await duty.pass_once(), len(held)) == (0, 2)
    assert duty.next_in() == ASKING_SECONDS
    await settle(main, held[0].lease, Act.COMPLETE)
    assert await claim_limited(main, ada) == []
    assert await duty.pass_once() == 1
    assert duty.next_in() is None

    assert len(await claim_limited(other, bob)) == 1
    assert await claim_limited(main, ada) == []


async def test_with_one_place_for_three_databases_each_has_its_turn(shards: Shards, clock: ManualClock) -> None:
    await set_limit(shards, task="work", max_concurrent=1)
    for store in shards.values():
        for _ in range(9):
            await submit(store)
    sessions = {name: await open_session(store) for name, store in shards.items()}
    ran = []
    mover = mover_of(shards, clock)
    for _ in range(9):
        for name, store in shards.items():
            for task in await claim_limited(store, sessions[name]):
                ran.append(name)
                await mover.pass_once()
                await settle(store, task.lease, Act.COMPLETE)
        await mover.pass_once()
        clock.advance(seconds=5)

    assert set(ran) == set(shards)


async def test_a_lower_limit_is_in_force_when_the_others_have_given_back(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=4)
    other = shards["pg2"]
    for _ in range(6):
        await submit(other)
    mover = mover_of(shards)
    await mover.pass_once()
    bob = await open_session(other)
    held = await claim_limited(other, bob)

    await set_limit(shards, task="work", max_concurrent=1)
    await mover.pass_once()
    assert await shares(shards, limit.id) == [-3, 4, 0]
    for task in held[:3]:
        await settle(other, task.lease, Act.COMPLETE)
        assert await claim_limited(other, bob) == []
        await mover.pass_once()

    assert await shares(shards, limit.id) == [0, 1, 0]
    await settle(other, held[3].lease, Act.COMPLETE)
    assert len(await claim_limited(other, bob)) == 1


async def test_shares_that_nothing_uses_go_back_to_the_directory(shards: Shards, clock: ManualClock) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=2, key="limit_key")
    other = shards["pg2"]
    await submit(other, limit_key="ada")
    await other.limits.sort_keys(most=100)
    mover = mover_of(shards)
    await mover.pass_once()
    (task,) = await claim_limited(other, await open_session(other))
    await settle(other, task.lease, Act.COMPLETE)
    assert await shares(shards, limit.id, "ada") == [1, 1, 0]

    clock.advance(seconds=61)
    await other.limits.sort_keys(most=100)
    assert await mover.pass_once(thorough=True) == 1

    assert await shares(shards, limit.id, "ada") == [2, 0, 0]


async def test_a_database_that_is_away_keeps_its_share_and_holds_up_nobody(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=6)
    for name in ("pg2", "pg3"):
        for _ in range(3):
            await submit(shards[name])
    mover = mover_of(shards)
    await mover.pass_once()
    for _ in range(9):
        await submit(shards["main"])
    some: dict[str, Any] = {name: store.limit_shares for name, store in shards.items()} | {"pg3": Away()}

    given = await ShareMover(Given(some)).pass_once()

    assert given == 1
    assert (await shares(shards, limit.id))[2] == 3
    assert await total(shards, limit.id) == Amount(6)


async def test_what_is_under_way_to_a_database_that_is_away_waits_for_it(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=6)
    for _ in range(3):
        await submit(shards["pg2"])
    all_: dict[str, Any] = {name: store.limit_shares for name, store in shards.items()}

    class Deaf(Away):
        """It is away when it should take something."""

        def __getattr__(self, name: str) -> Any:
            return super().__getattr__(name) if name == "take" else getattr(shards["pg2"].limit_shares, name)

    assert await ShareMover(Given(all_ | {"pg2": Deaf()})).pass_once() == 1
    assert await shares(shards, limit.id) == [3, 0, 0]
    assert await total(shards, limit.id) == Amount(6)

    await ShareMover(Given(all_)).pass_once()
    assert await shares(shards, limit.id) == [3, 3, 0]


async def test_a_database_that_was_away_when_a_limit_was_set_is_named_and_hears_of_it_later(shards: Shards) -> None:
    some: dict[str, Any] = {name: store.limit_shares for name, store in shards.items()} | {"pg3": Away()}
    wanted = accept_limit("few", LimitRequest(task="work", max_concurrent=2), tenant="default")
    await shards[DIRECTORY].limits.set_limit(wanted)

    assert await ShareMover(Given(some)).spread() == ["pg3"]
    assert await shards["pg3"].limits.limits() == []
    assert await mover_of(shards).spread() == []
    assert [limit.name for limit in await shards["pg3"].limits.limits()] == ["few"]


async def test_why_says_that_a_task_waits_for_a_share(shards: Shards) -> None:
    await set_limit(shards, task="work", max_concurrent=3)
    other = shards["pg2"]
    task = await submit(other)

    (reason, *_) = await WaitReasons(other).why(task)
    assert (reason.cause, reason.text) == (
        Cause.LIMITED,
        "it waits for a share of the limit few: of the 3 that may run at once, its shard may run 0, and runs 0",
    )
    await mover_of(shards).pass_once()
    assert all(each.cause is not Cause.LIMITED for each in await WaitReasons(other).why(task))
