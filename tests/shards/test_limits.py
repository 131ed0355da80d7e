"""Limits over the shards of an installation, as its processes set them and see them."""

import asyncpg
import pytest
from msgspec.structs import replace

from drumline.core.errors import NotFound
from drumline.core.flow import FlowLimit, LimitRequest, accept_limit
from drumline.core.limit_shares import Amount, Gift, LimitHolder, Split
from drumline.core.slots import slot_of_key
from drumline.core.task import NewTask, accept
from drumline.engine.flow import FlowLimits
from drumline.scheduler.limit_shares import LimitShares
from drumline.shards.limits import share_mover
from tests.factories import claim_request, open_session, request
from tests.shards.world import World, opened

FEW = LimitRequest(task="work", max_concurrent=3)


def flow_of(world: World) -> FlowLimits:
    """Return the limits as the front of a process has them."""
    flow = world.shards.directory.engine.flow
    flow.mover = share_mover(world.shards)
    return flow


def new_task(world: World, key: str) -> NewTask:
    """Return a task with a key: keys are spread over all slots."""
    made = world.ids.next(slot_of_key("default", key))
    accepted = accept(request(idempotency_key=key), id=made, tenant="default")
    return replace(accepted, slot_version=world.ids.version(made))


async def limits_of(world: World, shard: str) -> list[FlowLimit]:
    return await world.shards.named(shard).store.limits.limits()


async def add(world: World, urls: tuple[str, ...]) -> None:
    for name, url in zip(("pg2", "pg3"), urls[1:], strict=True):
        await world.service.add(name, store_url=url)


async def test_a_database_that_joins_has_the_limits_and_a_share_of_nothing(shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls) as world:
        kept, _ = await flow_of(world).set("few", FEW, tenant="default")
        await add(world, shard_urls)

        (copy,) = await limits_of(world, "pg2")

        assert (copy.id, copy.max_concurrent, copy.split) == (kept.id, 3, Split.COPY)
        assert (await flow_of(world).holders([kept]))[kept.id] == (
            LimitHolder(shard="main", running=0, max_concurrent=3),
            LimitHolder(shard="pg2", running=0, max_concurrent=0),
            LimitHolder(shard="pg3", running=0, max_concurrent=0),
        )


async def test_a_limit_is_set_and_deleted_on_every_shard(shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls) as world:
        await add(world, shard_urls)
        flow = flow_of(world)

        await flow.set("few", FEW, tenant="default")
        assert [[limit.name for limit in await limits_of(world, name)] for name in world.shards.names] == [["few"]] * 3
        await flow.delete("few", tenant="default")
        assert [await limits_of(world, name) for name in world.shards.names] == [[], [], []]
        with pytest.raises(NotFound):
            await flow.delete("few", tenant="default")


async def test_one_process_sets_a_limit_on_a_shard_that_another_has_just_added(shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls) as first, opened(shard_urls, seed=2) as second:
        await add(first, shard_urls)

        await flow_of(second).set("few", FEW, tenant="default")

        assert [limit.name for limit in await limits_of(first, "pg3")] == ["few"]


async def test_no_slot_moves_to_a_shard_before_it_has_all_limits(shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls) as world:
        await add(world, shard_urls)
        # As by a process that died before it told the shards.
        await world.shards.directory.store.limits.set_limit(accept_limit("few", FEW, tenant="default"))

        await world.service.move(taker="pg2")

        assert [limit.name for limit in await limits_of(world, "pg2")] == ["few"]


async def test_tasks_run_on_every_shard_under_one_limit(shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls) as world:
        await add(world, shard_urls)
        kept, _ = await flow_of(world).set("few", FEW, tenant="default")
        await world.service.move(taker=None)
        await world.router.join_each([new_task(world, str(number)) for number in range(60)])
        duty = LimitShares(share_mover(world.shards))

        for _ in range(2):
            await duty.pass_once()
            for shard in world.shards:
                session = await open_session(shard.store)
                await shard.store.claim([claim_request(session, limit=10, limited=True)])

        assert await running_in(shard_urls) == [1, 1, 1]
        held = (await flow_of(world).holders([kept]))[kept.id]
        assert [(each.running, each.max_concurrent) for each in held] == [(1, 1)] * 3


async def running_in(urls: tuple[str, ...]) -> list[int]:
    """Return how many tasks run in each database, from the leases themselves."""
    found = []
    for url in urls:
        connection = await asyncpg.connect(url)
        found.append(await connection.fetchval("SELECT count(*) FROM drumline.task_live WHERE state = 2"))
        await connection.close()
    return found


async def test_a_shard_that_is_removed_gives_back_its_share_and_may_come_again(shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls) as world:
        await add(world, shard_urls)
        kept, _ = await flow_of(world).set("few", FEW, tenant="default")
        await give_to_second(world, kept)
        assert await shares_of(world, kept) == {"main": 1, "pg2": 2, "pg3": 0}

        await world.service.remove("pg2")
        assert await shares_of(world, kept) == {"main": 3, "pg3": 0}

        await world.service.add("pg2", store_url=shard_urls[1])
        await give_to_second(world, kept)
        assert await shares_of(world, kept) == {"main": 1, "pg2": 2, "pg3": 0}


async def give_to_second(world: World, limit: FlowLimit) -> None:
    gift = Gift(taker="pg2", limit=limit.id, key=None, amount=Amount(2))
    await world.shards.directory.store.limit_shares.give([gift])
    await share_mover(world.shards).carry_on()


async def shares_of(world: World, limit: FlowLimit) -> dict[str, int | None]:
    held = (await flow_of(world).holders([limit]))[limit.id]
    return {each.shard: each.max_concurrent for each in held}
