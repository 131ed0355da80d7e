"""Signals of several owners that have one number: tasks that moved here once brought those that they had elsewhere."""

from collections.abc import AsyncIterator

import asyncpg
import pytest
from msgspec import Raw

from drumline.core.codec import decode
from drumline.core.durable import NewSignal, Record, Wait, WaitKind
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.ports.durable import Signalled
from drumline.ports.signal_exchange import Answer, KeyWait
from drumline.stores.postgres import PostgresStore
from tests.durable_factories import answered, park, signal
from tests.factories import claim_one, new_id, open_session, submit

PAID = Wait(kind=WaitKind.SIGNAL, name="paid", correlation="order-17")
AGAIN = Wait(kind=WaitKind.SIGNAL, name="paid", key="2", correlation="order-17")
APPROVED = Wait(kind=WaitKind.SIGNAL, name="approved")


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    opened = await asyncpg.connect(postgres_url)
    yield opened
    await opened.close()


async def running(store: PostgresStore) -> Lease:
    await submit(store)
    return (await claim_one(store, await open_session(store))).lease


async def send(store: PostgresStore, payload: bytes, *, id: str) -> None:
    sent = NewSignal(id=id, name="paid", key="order-17", payload=Raw(payload), tenant="default")
    assert isinstance(await store.durable.signal(sent), Signalled)


async def give_one_number(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Let all signals have the same number, as after a drain by an earlier release."""
    await connection.execute("UPDATE drumline.signal SET seq = 1")


def value(record: Record | None) -> object:
    assert record is not None
    return decode(bytes(record.value), object)


@pytest.mark.parametrize("first", ["own", "by key"])
async def test_each_of_two_signals_of_one_number_is_taken_by_itself(
    store: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]", first: str
) -> None:
    lease = await running(store)
    if first == "own":
        await signal(store, lease.task, "paid", "own")
    await send(store, b'"by key"', id="s1")
    if first != "own":
        await signal(store, lease.task, "paid", "own")
    await give_one_number(connection)
    await connection.execute("UPDATE drumline.signal SET at = 1 WHERE (task_id IS NULL) = $1", first != "own")

    taken = [value((await answered(store, lease, each))[0]) for each in (PAID, AGAIN)]

    assert sorted(map(str, taken)) == ["by key", "own"]
    assert taken[0] == first


async def test_two_signals_to_one_task_of_one_number_are_taken_one_by_one(
    store: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    lease = await running(store)
    for number in (1, 2):
        await signal(store, lease.task, "paid", number, id=f"s{number}")
    await give_one_number(connection)

    assert {value((await answered(store, lease, each))[0]) for each in (PAID, AGAIN)} == {1, 2}


@pytest.mark.parametrize("answer", [Answer.TAKEN, Answer.REFUSED])
async def test_a_signal_that_is_given_leaves_one_to_a_task_of_the_same_number_alone(
    store: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]", answer: Answer
) -> None:
    lease = await running(store)
    await signal(store, lease.task, "approved", "own")
    await send(store, b'"by key"', id="s1")
    await give_one_number(connection)
    far: TaskId = new_id()
    exchange = store.signal_exchange

    await exchange.register([KeyWait(task=far, tenant="default", name="paid", key="order-17", version=0)])
    given = await exchange.given(limit=9)
    await exchange.settle(given, [answer])

    assert [(each.task, each.key, each.id) for each in given] == [(far, "order-17", "s1")]
    (record,) = await answered(store, lease, APPROVED)
    assert value(record) == "own"


async def test_a_signal_to_a_task_that_was_given_away_by_mistake_is_taken_all_the_same(
    store: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    lease = await running(store)
    await park(store, lease, APPROVED)
    await signal(store, lease.task, "approved", "own")
    await connection.execute("UPDATE drumline.signal SET given_to = $1, given_no = 1", new_id())

    assert await store.signal_exchange.given(limit=9) == []
    again = (await claim_one(store, await open_session(store))).lease
    (record,) = await answered(store, again, APPROVED)
    assert value(record) == "own"
