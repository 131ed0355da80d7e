"""Records and parks against reaps, cancels and settlements, from several connections at the same moment."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import asyncpg
import pytest

from drumline.core.durable import Record
from drumline.core.errors import Fenced
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.ports.store import Settled, Settlement
from drumline.stores.postgres import PostgresStore
from tests.durable_factories import names_of, record, sleep, step, wait
from tests.factories import claim, claim_one, open_session, state_of, submit
from tests.postgres.polling import until

ROUNDS: Final = 12


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


async def running(store: PostgresStore) -> tuple[SessionId, Lease]:
    await submit(store)
    session = await open_session(store)
    return session, (await claim_one(store, session)).lease


@pytest.mark.parametrize("is_reap_first", [True, False])
async def test_a_record_waits_for_a_reap_that_has_the_lock(
    store: PostgresStore, postgres_url: str, is_reap_first: bool
) -> None:
    """A record that has begun before the reap's commit must see it: matching the lease is no fence, locking it is."""
    _, lease = await running(store)
    other = await asyncpg.connect(postgres_url)
    try:
        reap = other.transaction()
        await reap.start()
        await other.execute("SELECT FROM drumline.task_live WHERE id = $1 FOR UPDATE", lease.task)
        if is_reap_first:
            await other.execute(
                "UPDATE drumline.task_live SET state = 1, epoch = epoch + 1, nonce = 0 WHERE id = $1", lease.task
            )
        recording = asyncio.create_task(record(store, step(lease, "late")))
        await until(lambda: waiting(other))
        await reap.commit()
        answer = await recording
    finally:
        await other.close()

    assert isinstance(answer, Fenced if is_reap_first else Record)
    assert await names_of(store, lease.task) == ([] if is_reap_first else ["late"])


async def waiting(connection: "asyncpg.Connection[asyncpg.Record]") -> bool:
    count = await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(count)


async def test_a_record_and_a_reap_leave_one_of_two_worlds(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        session, lease = await running(store)

        answer, _ = await asyncio.gather(
            record(store, step(lease, "a")), store.sessions.reap([(session, 0)], poison_after=9)
        )

        assert await names_of(store, lease.task) == ([] if isinstance(answer, Fenced) else ["a"])
        again = await record(store, step(lease, "b"))
        assert isinstance(again, Fenced)
        (view,) = await store.queries.get([lease.task])
        assert view is not None
        assert view.state is State.QUEUED
        await store.control.cancel([lease.task])


async def test_a_park_and_a_cancel_leave_the_task_cancelled(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        _, lease = await running(store)

        await asyncio.gather(wait(store, lease, sleep("nap", 60_000)), store.control.cancel([lease.task]))

        assert await state_of(store, lease.task) is State.CANCELLED


async def test_a_park_and_a_reap_leave_the_task_queued_once(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        session, lease = await running(store)

        answer, _ = await asyncio.gather(
            wait(store, lease, sleep("nap", 60_000)), store.sessions.reap([(session, 0)], poison_after=9)
        )

        (view,) = await store.queries.get([lease.task])
        assert view is not None
        assert (view.state, view.crashes) == (State.QUEUED, int(isinstance(answer, Fenced)))
        assert len(await store.queries.attempts(lease.task)) == 1
        await store.control.cancel([lease.task])


async def test_a_park_and_a_settlement_of_one_lease_have_one_outcome(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        _, lease = await running(store)

        parked, settled = await asyncio.gather(
            wait(store, lease, sleep("nap", 60_000)), store.settle([Settlement(lease=lease, act=Act.COMPLETE)])
        )

        state = await state_of(store, lease.task)
        assert isinstance(parked, Settled)
        assert isinstance(settled[0], Settled)
        assert parked.state is settled[0].state is state
        await store.control.cancel([lease.task])


async def test_late_records_of_a_thousand_reaped_attempts_are_all_refused(store: PostgresStore) -> None:
    ada = await open_session(store)
    for _ in range(1000):
        await submit(store)
    leases = [task.lease for task in await claim(store, ada, limit=1000)]
    await store.sessions.reap([(ada, 0)], poison_after=9)

    answers = await store.durable.record([step(lease, "late") for lease in leases])

    assert len(answers) == 1000
    assert all(isinstance(answer, Fenced) for answer in answers)
