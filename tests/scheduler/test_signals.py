"""Signals by correlation over several databases, passed on by processes that may die at every step."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec import Raw

from drumline.core.clock import ManualClock
from drumline.core.ids import TaskId
from drumline.core.shard_map import ShardMap
from drumline.core.state import Act, State
from drumline.ports.signal_exchange import Answer, KeyWait
from drumline.stores.sqlite import SqliteStore
from tests.durable_factories import answered, park, steps_of
from tests.factories import claim_one, open_session, settle, state_of
from tests.signal_world import SignalWorld, send, wait_for


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def stores(clock: ManualClock) -> AsyncIterator[dict[str, SqliteStore]]:
    opened = {name: await SqliteStore.open(":memory:", clock=clock) for name in "abc"}
    yield opened
    await asyncio.gather(*(store.close() for store in opened.values()))


@pytest.mark.parametrize("seed", range(24))
async def test_in_any_order_and_whoever_dies_each_signal_is_taken_once_or_kept(
    stores: dict[str, SqliteStore], clock: ManualClock, seed: int
) -> None:
    world = SignalWorld(stores, clock, seed)
    await world.begin()

    for _ in range(150):
        await world.step()

    await world.settle_down()


class Two:
    """A task in `a` that waits for a signal by a key, and one in `b`."""

    def __init__(self, stores: dict[str, SqliteStore], clock: ManualClock) -> None:
        self.world = SignalWorld(stores, clock, 0)
        self.stores = stores

    async def parked(self, place: str, *, timeout_ms: int | None = None) -> TaskId:
        task = await self.world.new_task(place, "k1")
        session = await open_session(self.stores[place])
        lease = (await claim_one(self.stores[place], session)).lease
        await park(self.stores[place], lease, wait_for("k1", 0, timeout_ms))
        return task

    async def registered(self, place: str, *, timeout_ms: int | None = None) -> TaskId:
        task = await self.parked(place, timeout_ms=timeout_ms)
        for store in self.stores.values():
            await store.signal_exchange.register([key_wait(task)])
        return task

    async def values(self, place: str, task: TaskId) -> list[Raw]:
        return [record.value for record in (await steps_of(self.stores[place], task)).page.records]


def key_wait(task: TaskId) -> KeyWait:
    return KeyWait(task=task, tenant="default", name="paid", key="k1")


@pytest.fixture
def two(stores: dict[str, SqliteStore], clock: ManualClock) -> Two:
    return Two(stores, clock)


@pytest.mark.parametrize("is_signal_first", [True, False])
async def test_a_signal_reaches_a_task_of_another_database(two: Two, is_signal_first: bool) -> None:
    if is_signal_first:
        await send(two.stores["b"], "k1", 1, id="s")
    task = await two.parked("a")
    if not is_signal_first:
        await send(two.stores["b"], "k1", 1, id="s")

    await two.world.go_on()

    assert await two.values("a", task) == [Raw(b"1")]
    assert (await send(two.stores["b"], "k1", 1, id="s")).created is False


async def test_the_task_that_was_registered_first_gets_the_signal(two: Two) -> None:
    first, second = await two.registered("a"), await two.registered("c")

    await send(two.stores["b"], "k1", 1, id="s1")
    (given,) = await two.stores["b"].signal_exchange.given(limit=9)
    assert given.task == first
    await send(two.stores["b"], "k1", 2, id="s2")
    given, other = await two.stores["b"].signal_exchange.given(limit=9)

    assert (given.task, other.task) == (first, second)


async def test_the_same_giving_gets_the_same_answer(two: Two) -> None:
    task = await two.registered("a")
    await send(two.stores["b"], "k1", 1, id="s1")
    given = await two.stores["b"].signal_exchange.given(limit=9)

    answers = [(await two.stores["a"].signal_exchange.decide(given))[0].answer for _ in range(2)]
    await two.stores["b"].signal_exchange.settle(given, [Answer.TAKEN])
    await two.stores["b"].signal_exchange.settle(given, [Answer.TAKEN])

    assert answers == [Answer.TAKEN, Answer.TAKEN]
    assert await two.values("a", task) == [Raw(b"1")]
    assert await two.stores["b"].signal_exchange.given(limit=9) == []


@pytest.mark.parametrize("end", ["timeout", "cancel", "running"])
async def test_a_signal_that_comes_too_late_for_one_task_goes_to_the_next(
    two: Two, clock: ManualClock, end: str
) -> None:
    gone, second = await two.registered("a", timeout_ms=1000), await two.registered("c")
    await send(two.stores["b"], "k1", 1, id="s1")
    given = await two.stores["b"].signal_exchange.given(limit=9)
    store = two.stores["a"]
    if end == "cancel":
        await store.control.cancel([gone])
    else:
        clock.advance(2)
        lease = (await claim_one(store, await open_session(store))).lease
        if end == "timeout":
            await answered(store, lease, wait_for("k1", 0, 1000))
            await settle(store, lease, Act.COMPLETE)

    (decided,) = await store.signal_exchange.decide(given)
    assert decided.answer is Answer.REFUSED
    assert (await store.signal_exchange.decide(given))[0].answer is Answer.REFUSED  # also if it waits again meanwhile
    await two.stores["b"].signal_exchange.settle(given, [decided.answer])
    (again,) = await two.stores["b"].signal_exchange.given(limit=9)

    assert (again.task, again.no) == (second, 2)
    (decided,) = await two.stores["c"].signal_exchange.decide([again])
    assert decided.answer is Answer.TAKEN


async def test_a_late_refusal_takes_nothing_from_who_has_taken_it(two: Two) -> None:
    task = await two.registered("a")
    await send(two.stores["b"], "k1", 1, id="s1")
    given = await two.stores["b"].signal_exchange.given(limit=9)
    await two.stores["a"].signal_exchange.decide(given)
    await two.stores["b"].signal_exchange.settle(given, [Answer.TAKEN])

    await two.stores["b"].signal_exchange.settle(given, [Answer.REFUSED])

    await two.parked("c")
    await two.world.go_on()
    assert (await two.world.taken())[1] == 1
    assert await two.values("a", task) == [Raw(b"1")]


async def test_a_wait_that_was_refused_while_it_ran_is_registered_anew(two: Two, clock: ManualClock) -> None:
    task = await two.registered("a", timeout_ms=1000)
    store = two.stores["a"]
    await store.signal_exchange.mark_registered([key_wait(task)], number=1)
    assert await store.signal_exchange.unregistered(number=1, limit=9) == []
    await send(two.stores["b"], "k1", 1, id="s1")
    given = await two.stores["b"].signal_exchange.given(limit=9)
    clock.advance(2)
    lease = (await claim_one(store, await open_session(store))).lease
    (decided,) = await store.signal_exchange.decide(given)
    assert decided.answer is Answer.REFUSED
    # A mark by a process that had registered it before must not hide that it has to be done again.
    await store.signal_exchange.mark_registered([key_wait(task)], number=1)
    await two.stores["b"].signal_exchange.settle(given, [decided.answer])
    await park(store, lease, wait_for("k1", 1))

    await two.world.go_on()

    assert (await two.world.taken())[1] == 1


async def test_a_change_of_the_map_lets_waits_be_registered_again(two: Two) -> None:
    task = await two.parked("a")
    await two.world.go_on()
    exchange = two.stores["a"].signal_exchange
    assert await exchange.unregistered(number=1, limit=9) == []

    assert [wait.task for wait in await exchange.unregistered(number=2, limit=9)] == [task]
    two.world.places.map = ShardMap(2)
    await two.world.go_on()
    assert await exchange.unregistered(number=2, limit=9) == []


async def test_a_shard_that_is_away_keeps_nothing_from_the_others(two: Two) -> None:
    task = await two.parked("a")
    two.world.places.away = {"c"}
    await send(two.stores["b"], "k1", 1, id="s1")
    await two.world.go_on()
    assert await two.values("a", task) == [Raw(b"1")]

    await two.parked("a")
    await two.world.go_on()
    assert await two.stores["a"].signal_exchange.unregistered(number=1, limit=9) != []
    await send(two.stores["c"], "k1", 2, id="s2")
    two.world.places.away = set()
    await two.world.go_on()
    assert (await two.world.taken())[2] == 1


async def test_registrations_of_tasks_that_wait_no_more_are_forgotten(two: Two, clock: ManualClock) -> None:
    over, waiting = await two.registered("a", timeout_ms=1000), await two.registered("a")
    clock.advance(4000)
    lease = (await claim_one(two.stores["a"], await open_session(two.stores["a"]))).lease
    assert lease.task == over
    await answered(two.stores["a"], lease, wait_for("k1", 0, 1000))
    await settle(two.stores["a"], lease, Act.COMPLETE)

    await two.world.go_on()

    watches = await two.stores["b"].signal_exchange.watches(older_than_ms=0, limit=9)
    assert [watch.task for watch in watches] == [waiting]
    assert await state_of(two.stores["a"], waiting) is State.QUEUED
