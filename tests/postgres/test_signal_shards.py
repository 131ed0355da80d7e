"""Signals by correlation over three real databases: steps in any order, and pairs at the same moment."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from drumline.core.clock import ManualClock
from drumline.ports.signal_exchange import Answer, KeyWait
from drumline.stores.postgres import PostgresStore
from tests.durable_factories import park, steps_of
from tests.factories import claim_one, open_session, submit
from tests.signal_world import SignalWorld, send, wait_for


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def stores(shard_urls: tuple[str, ...], clock: ManualClock) -> AsyncIterator[dict[str, PostgresStore]]:
    urls = dict(zip("abc", shard_urls, strict=True))
    opened = {name: await PostgresStore.open(url, clock=clock) for name, url in urls.items()}
    yield opened
    await asyncio.gather(*(store.close() for store in opened.values()))


@pytest.mark.parametrize("seed", range(100, 104))
async def test_in_any_order_and_whoever_dies_each_signal_is_taken_once_or_kept(
    stores: dict[str, PostgresStore], clock: ManualClock, seed: int
) -> None:
    world = SignalWorld(stores, clock, seed)
    await world.begin()

    for _ in range(100):
        await world.step()

    await world.settle_down()


@pytest.mark.parametrize("turn", range(4))
async def test_one_giving_told_by_many_at_the_same_moment_has_one_answer(
    stores: dict[str, PostgresStore], turn: int
) -> None:
    store, keeper = stores["a"], stores["b"]
    task = await submit(store)
    session = await open_session(store)
    await park(store, (await claim_one(store, session)).lease, wait_for("k1"))
    await keeper.signal_exchange.register([KeyWait(task=task, tenant="default", name="paid", key="k1")])
    await send(keeper, "k1", turn, id="s1")
    given = await keeper.signal_exchange.given(limit=9)

    telling = asyncio.gather(*(store.signal_exchange.decide(given) for _ in range(6)))
    if turn % 2:
        await store.control.cancel([task])
    told = await telling
    answers = {decided.answer for decision in told for decided in decision}
    await asyncio.gather(*(keeper.signal_exchange.settle(given, list(answers)) for _ in range(3)))

    assert len(answers) == 1
    records = (await steps_of(store, task)).page.records
    assert len(records) == (1 if answers == {Answer.TAKEN} else 0)
    assert await keeper.signal_exchange.given(limit=9) == []
