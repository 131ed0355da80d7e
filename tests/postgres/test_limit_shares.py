"""Shares of limits: what each database may run of a limit, and how that moves to another."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict
from drumline.core.flow import LimitRequest, accept_limit
from drumline.core.limit_shares import Amount, Ceiling, Gift, LimitDefinitions, Transfer
from drumline.core.state import Act
from drumline.core.task import ClaimedTask
from drumline.ports.shards import ShardIdentity
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_request, open_session, settle, submit
from tests.postgres.limit_shards import claim_limited, mover_of, open_shards, set_limit, total

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


async def many(store: PostgresStore, count: int, name: str = "work", **fields: Any) -> None:
    for _ in range(count):
        await submit(store, name, **fields)


async def complete(store: PostgresStore, *tasks: ClaimedTask) -> None:
    for task in tasks:
        await settle(store, task.lease, Act.COMPLETE)


def gift(limit: int, running: int = 0, starts: int = 0, *, taker: str = "pg2", key: str | None = None) -> Gift:
    return Gift(taker=taker, limit=limit, key=key, amount=Amount(running, starts))


async def share_of(store: PostgresStore, limit: int, key: str | None = None) -> Amount:
    (holding,) = await store.limit_shares.holdings([(limit, key)])
    return holding.share


async def give_number_next(url: str, number: int) -> None:
    """Let a database give the next limit that it is asked to keep this number."""
    connection = await asyncpg.connect(url)
    await connection.fetch("SELECT setval(pg_get_serial_sequence('drumline.flow_limit', 'id'), $1, false)", number)
    await connection.close()


async def move(shards: Shards, giver: str, *gifts: Gift) -> int:
    """Give, and let the taker have it."""
    given = await shards[giver].limit_shares.give(gifts)
    await mover_of(shards).carry_on()
    return given


async def test_the_directory_begins_with_all_of_a_limit_and_a_copy_with_nothing(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=3, rate="7/m")

    assert [await share_of(store, limit.id) for store in shards.values()] == [Amount(3, 7), Amount(), Amount()]
    for store in shards.values():
        await many(store, 5)
    started = [await claim_limited(store, await open_session(store)) for store in shards.values()]
    assert [len(each) for each in started] == [3, 0, 0]


async def test_what_is_given_may_run_at_the_taker_and_no_more_at_the_giver(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=3)
    for store in shards.values():
        await many(store, 5)

    assert await move(shards, "main", gift(limit.id, 2)) == 1

    started = [await claim_limited(store, await open_session(store)) for store in shards.values()]
    assert [len(each) for each in started] == [1, 2, 0]
    assert await total(shards, limit.id) == Amount(3, 0)


async def test_a_share_is_never_lowered_under_what_runs(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=3)
    main = shards["main"]
    await many(main, 5)
    ada = await open_session(main)
    held = await claim_limited(main, ada, limit=2)

    assert await move(shards, "main", gift(limit.id, 3)) == 1
    assert await share_of(shards["pg2"], limit.id) == Amount(1)
    assert await move(shards, "main", gift(limit.id, 3)) == 0

    await complete(main, held[0])
    assert await move(shards, "main", gift(limit.id, 3)) == 1
    assert await share_of(main, limit.id) == Amount(1)


async def test_a_rate_is_never_lowered_under_what_its_period_has_used(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", rate="3/h")
    main = shards["main"]
    await many(main, 5)
    await complete(main, *await claim_limited(main, await open_session(main), limit=2))

    assert await move(shards, "main", gift(limit.id, 0, 3)) == 1
    assert await share_of(shards["pg2"], limit.id) == Amount(0, 1)
    assert await move(shards, "main", gift(limit.id, 0, 1)) == 0


async def test_a_transfer_is_applied_once_however_often_it_is_found(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=5)
    main, other = shards["main"].limit_shares, shards["pg2"].limit_shares
    await main.give([gift(limit.id, 2), gift(limit.id, 1)])
    found = await main.transfers(most=10)

    first = await other.take("main", found)
    again = await other.take("main", found[:1])
    await main.finish("pg2", first)
    late = await other.take("main", found)

    assert [each.amount for each in found] == [Amount(2), Amount(1)]
    assert (first, again, late) == ([each.number for each in found], first[:1], first)
    assert await share_of(shards["pg2"], limit.id) == Amount(3)
    assert await main.transfers(most=10) == []


async def test_an_old_number_deletes_no_newer_transfer(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=5)
    main, other = shards["main"].limit_shares, shards["pg2"].limit_shares
    await main.give([gift(limit.id, 1)])
    old = await other.take("main", await main.transfers(most=10))
    await main.finish("pg2", old)
    await main.give([gift(limit.id, 1)])

    await main.finish("pg2", old)

    assert len(await main.transfers(most=10)) == 1
    assert await total(shards, limit.id) == Amount(5)


async def test_transfers_are_numbered_for_each_taker_by_itself(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=5)
    await move(shards, "main", gift(limit.id, 2), gift(limit.id, 2, taker="pg3"))
    await move(shards, "pg2", gift(limit.id, 1, taker="pg3"))

    assert [await share_of(store, limit.id) for store in shards.values()] == [Amount(1), Amount(1), Amount(3)]


async def test_a_transfer_waits_for_a_taker_that_has_not_heard_of_the_limit(shards: Shards) -> None:
    await set_limit(shards, "old", task="old", max_concurrent=2)
    main, other = shards["main"], shards["pg2"].limit_shares
    limit, _ = await main.limits.set_limit(
        accept_limit("new", LimitRequest(task="work", max_concurrent=2), tenant="default")
    )
    await main.limit_shares.give([gift(limit.id, 1)])
    found = await main.limit_shares.transfers(most=10)

    assert await other.take("main", found) == []
    await other.install(await main.limit_shares.definitions())
    assert await other.take("main", found) == [found[0].number]
    assert await share_of(shards["pg2"], limit.id) == Amount(1)


async def test_a_transfer_of_a_limit_that_was_deleted_is_dropped(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=2)
    main, other = shards["main"], shards["pg2"]
    await main.limit_shares.give([gift(limit.id, 1)])
    found = await main.limit_shares.transfers(most=10)
    await main.limits.delete_limit("few", tenant="default")
    assert await other.limit_shares.install(await main.limit_shares.definitions())

    assert await other.limit_shares.take("main", found) == [found[0].number]
    assert await main.limit_shares.transfers(most=10) == []
    anew = await set_limit(shards, task="work", max_concurrent=2)
    assert anew.id != limit.id
    assert [await share_of(store, anew.id) for store in shards.values()] == [Amount(2), Amount(), Amount()]


async def test_a_limit_that_counts_other_tasks_begins_anew(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=4)
    await move(shards, "main", gift(limit.id, 3))

    changed = await set_limit(shards, task="other", max_concurrent=4)

    assert [await share_of(store, changed.id) for store in shards.values()] == [Amount(4), Amount(), Amount()]
    assert await shards["pg2"].limit_shares.holdings([(limit.id, None)]) == []


async def test_the_directorys_share_changes_with_the_limit_and_may_fall_below_nothing(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=5)
    await move(shards, "main", gift(limit.id, 4))

    await set_limit(shards, task="work", max_concurrent=2)
    assert [await share_of(store, limit.id) for store in shards.values()] == [Amount(-2), Amount(4), Amount()]
    await many(shards["main"], 3)
    assert await claim_limited(shards["main"], await open_session(shards["main"])) == []
    assert await shards["main"].limit_shares.short(most=10, thorough=False) == [(limit.id, None)]

    await set_limit(shards, task="work", max_concurrent=6)
    assert await share_of(shards["main"], limit.id) == Amount(2)


async def test_an_older_state_of_the_limits_changes_nothing(shards: Shards) -> None:
    await set_limit(shards, task="work", max_concurrent=5)
    main, other = shards["main"], shards["pg2"]
    old = await main.limit_shares.definitions()
    await set_limit(shards, task="work", max_concurrent=7)
    await set_limit(shards, "second", task="second", max_concurrent=1)

    assert not await other.limit_shares.install(old)
    assert [(limit.name, limit.max_concurrent) for limit in await other.limits.limits()] == [("few", 7), ("second", 1)]
    await main.limits.delete_limit("second", tenant="default")
    assert await mover_of(shards).spread() == []
    assert [limit.name for limit in await other.limits.limits()] == ["few"]


async def test_tasks_that_run_when_a_database_hears_of_a_limit_count(shards: Shards) -> None:
    other = shards["pg2"]
    await many(other, 4)
    ada = await open_session(other)
    (answer,) = await other.claim([claim_request(ada, limit=2)])
    assert len(answer.tasks) == 2

    limit = await set_limit(shards, task="work", max_concurrent=5)
    await move(shards, "main", gift(limit.id, 3))

    assert len(await claim_limited(other, ada)) == 1


async def test_limits_are_set_in_the_directory_only(shards: Shards, shard_urls: tuple[str, ...]) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=5)
    await give_number_next(shard_urls[1], limit.id)

    with pytest.raises(Conflict):
        await shards["pg2"].limits.set_limit(
            accept_limit("own", LimitRequest(task="x", max_concurrent=1), tenant="default")
        )
    with pytest.raises(Conflict):
        await shards["pg2"].limits.delete_limit("few", tenant="default")
    assert [limit.name for limit in await shards["pg2"].limits.limits()] == ["few"]


async def test_limits_that_a_database_had_before_it_joined_give_way(shards: Shards) -> None:
    other = shards["pg2"]
    for name in ("a", "b", "few"):
        await other.limits.set_limit(accept_limit(name, LimitRequest(task=name, max_concurrent=9), tenant="default"))

    limit = await set_limit(shards, task="work", max_concurrent=5)

    assert [(each.name, each.task, each.id) for each in await other.limits.limits()] == [("few", "work", limit.id)]


async def test_each_key_has_the_whole_limit_and_moves_by_itself(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=2, key="limit_key")
    main, other = shards["main"], shards["pg2"]
    for key in ("ada", "bob"):
        await many(main, 3, limit_key=key)
        await many(other, 3, limit_key=key)

    await move(shards, "main", gift(limit.id, 1, key="ada"))

    assert len(await claim_limited(main, await open_session(main))) == 3
    assert [task.options.limit_key for task in await claim_limited(other, await open_session(other))] == ["ada"]
    assert await total(shards, limit.id, "ada") == await total(shards, limit.id, "bob") == Amount(2)


async def test_a_ceiling_holds_until_something_was_given_or_its_time_is_over(
    shards: Shards, clock: ManualClock
) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=4)
    main = shards["main"]
    await many(main, 5)
    ada = await open_session(main)
    await main.limit_shares.ask([Ceiling(limit=limit.id, key=None, running=1)])

    assert len(await claim_limited(main, ada)) == 1
    assert await move(shards, "main", gift(limit.id, 1)) == 1
    assert len(await claim_limited(main, ada, limit=1)) == 1

    await main.limit_shares.ask([Ceiling(limit=limit.id, key=None, running=2)])
    assert await claim_limited(main, ada) == []
    clock.advance(seconds=4)
    assert len(await claim_limited(main, ada)) == 1


async def test_a_share_that_nothing_uses_is_idle_after_a_minute(shards: Shards, clock: ManualClock) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=3)
    await move(shards, "main", gift(limit.id, 2))
    main, other = shards["main"].limit_shares, shards["pg2"].limit_shares

    assert await other.given(most=10, idle=True) == []
    clock.advance(seconds=61)
    assert [each.share for each in await other.given(most=10, idle=True)] == [Amount(2)]
    await many(shards["pg2"], 1)
    assert await other.given(most=10, idle=True) == []
    assert [each.share for each in await other.given(most=10, idle=False)] == [Amount(2)]
    assert await main.given(most=10, idle=False) == []


async def test_what_is_under_way_to_a_database_that_leaves_comes_back_unless_it_was_applied(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=6)
    main, other = shards["main"].limit_shares, shards["pg2"].limit_shares
    await main.give([gift(limit.id, 1), gift(limit.id, 2)])
    found = await main.transfers(most=10)
    await other.take("main", found[:1])

    applied = await other.close()
    assert await other.take("main", found) == [found[0].number]
    await main.disown("pg2", applied=applied["main"])

    assert [await share_of(store, limit.id) for store in shards.values()] == [Amount(5), Amount(1), Amount()]
    assert await main.give([gift(limit.id, 1)]) == 0
    assert await total(shards, limit.id) == Amount(6)
    await main.admit("pg2")
    assert await main.give([gift(limit.id, 1)]) == 1


async def test_a_new_database_under_an_old_name_is_sent_no_old_number(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=6)
    await move(shards, "main", gift(limit.id, 2))
    await move(shards, "pg2", gift(limit.id, 1, taker="main"))
    mover = mover_of(shards)
    await mover.release("pg2")
    assert [await share_of(shards[name], limit.id) for name in ("main", "pg3")] == [Amount(6), Amount()]
    assert await shards["pg2"].limits.limits() == []

    await mover.admit("pg2", shards["pg2"].limit_shares)
    await move(shards, "main", gift(limit.id, 2))
    await move(shards, "pg2", gift(limit.id, 1, taker="main"))

    assert [await share_of(store, limit.id) for store in shards.values()] == [Amount(5), Amount(1), Amount()]


async def test_a_database_in_which_tasks_run_under_limits_cannot_leave(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=6)
    await move(shards, "main", gift(limit.id, 2))
    await many(shards["pg2"], 1)
    (held,) = await claim_limited(shards["pg2"], await open_session(shards["pg2"]))

    with pytest.raises(Conflict):
        await mover_of(shards).release("pg2")
    await complete(shards["pg2"], held)
    await mover_of(shards).release("pg2")

    assert await share_of(shards["main"], limit.id) == Amount(6)


async def test_nothing_is_taken_out_of_order(shards: Shards) -> None:
    limit = await set_limit(shards, task="work", max_concurrent=6)
    main, other = shards["main"].limit_shares, shards["pg2"].limit_shares
    await main.give([gift(limit.id, 1)])
    (first,) = await main.transfers(most=10)
    unheard = Transfer(taker="pg2", number=first.number + 1, limit=limit.id + 1000, key=None, amount=Amount(1))
    last = Transfer(taker="pg2", number=first.number + 2, limit=limit.id, key=None, amount=Amount(1))

    assert await other.take("main", [first, unheard, last]) == [first.number]
    assert await share_of(shards["pg2"], limit.id) == Amount(1)


async def test_a_database_that_comes_from_another_installation_takes_over_the_limits_of_this_one(
    shards: Shards,
) -> None:
    other = shards["pg2"]
    await set_limit(shards, "old", task="old", max_concurrent=1)
    for most in range(1, 5):
        await set_limit(shards, "few", task="work", max_concurrent=most)  # its version is higher than what will come
    first, second = (f"0f0a2c3e-0000-4000-8000-00000000000{number}" for number in (1, 2))
    await other.slots.join(ShardIdentity("pg2", first))
    assert await other.limit_shares.installed() == -1
    wanted = await shards["main"].limit_shares.definitions()
    await other.limit_shares.install(replace(wanted, directory=first, version=9))
    assert await other.limit_shares.installed() == 9

    await other.slots.leave(ShardIdentity("pg2", first))
    await other.slots.join(ShardIdentity("pg2", second))
    await other.limit_shares.install(LimitDefinitions(directory=second, version=1, last_id=7))

    assert (await other.limit_shares.installed(), await other.limits.limits()) == (1, [])
