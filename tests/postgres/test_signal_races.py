"""Signals against parks, timeouts, cancels and claims, from several connections at the same moment."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import pytest
from msgspec import Raw

from drumline.core.durable import Answered, NewSignal, RecordStatus, Wait, WaitKind
from drumline.core.errors import Conflict
from drumline.core.lease import Lease
from drumline.core.state import State
from drumline.ports.durable import Signalled
from drumline.ports.store import Settled
from drumline.stores.postgres import PostgresStore
from tests.durable_factories import signal, steps_of, wait
from tests.factories import claim, claim_one, open_session, state_of, submit

ROUNDS: Final = 25
APPROVED: Final = Wait(kind=WaitKind.SIGNAL, name="approved")


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


async def running(store: PostgresStore) -> Lease:
    await submit(store)
    return (await claim_one(store, await open_session(store))).lease


async def test_a_signal_and_a_park_at_once_never_miss_each_other(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        lease = await running(store)

        waited, sent = await asyncio.gather(wait(store, lease, APPROVED), signal(store, lease.task, "approved", 1))

        assert isinstance(sent, Signalled)
        if isinstance(waited, Settled):
            assert [each.task for each in sent.woken] == [lease.task]
            again = (await claim_one(store, await open_session(store))).lease
            waited = await wait(store, again, APPROVED)
        assert isinstance(waited, Answered)
        ((_, record),) = waited.answers
        assert record is not None
        assert record.value == Raw(b"1")
        await store.control.cancel([lease.task], force=True)


async def test_a_signal_and_a_timeout_at_once_give_one_answer_and_lose_nothing(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        lease = await running(store)
        short = Wait(kind=WaitKind.SIGNAL, name="approved", delay_ms=0)

        waited, sent = await asyncio.gather(wait(store, lease, short), signal(store, lease.task, "approved", 1))

        assert isinstance(waited, Answered)
        assert isinstance(sent, Signalled)
        ((_, record),) = waited.answers
        assert record is not None
        if record.status is RecordStatus.TIMED_OUT:  # then the signal is there for the next wait
            later = await wait(store, lease, Wait(kind=WaitKind.SIGNAL, name="approved", key="2"))
            assert isinstance(later, Answered)
        await store.control.cancel([lease.task], force=True)


async def test_the_same_signal_from_many_senders_is_kept_once(store: PostgresStore) -> None:
    lease = await running(store)

    answers = await asyncio.gather(*(signal(store, lease.task, "approved", 1, id="one") for _ in range(20)))

    assert sum(isinstance(each, Signalled) and each.created for each in answers) == 1
    assert all(isinstance(each, Signalled) for each in answers)


async def test_a_signal_and_a_cancel_leave_the_task_cancelled(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        lease = await running(store)
        await wait(store, lease, APPROVED)

        sent, _ = await asyncio.gather(signal(store, lease.task, "approved"), store.control.cancel([lease.task]))

        assert isinstance(sent, Signalled | Conflict)
        assert await state_of(store, lease.task) is State.CANCELLED


async def test_by_correlation_each_signal_answers_one_task_and_none_is_lost(store: PostgresStore) -> None:
    paid = Wait(kind=WaitKind.SIGNAL, name="paid", correlation="k")
    ada = await open_session(store)
    for _ in range(10):
        await submit(store)
    leases = [task.lease for task in await claim(store, ada, limit=10)]

    async def send(number: int) -> object:
        return await store.durable.signal(
            NewSignal(id=str(number), name="paid", key="k", payload=Raw(str(number).encode()), tenant="default")
        )

    await asyncio.gather(*(wait(store, lease, paid) for lease in leases), *(send(number) for number in range(10)))
    for _ in range(20):
        woken = await claim(store, ada, limit=10)
        await asyncio.gather(*(wait(store, task.lease, paid) for task in woken))

    values = set()
    for lease in leases:
        records = (await steps_of(store, lease.task)).page.records
        assert len(records) == 1
        values.add(bytes(records[0].value))
    assert values == {str(number).encode() for number in range(10)}
