"""Ends of children against parks, cancels, reaps and retries of their parents, from several connections at once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import asyncpg
import pytest

from drumline.core.durable import Answered, NewRecord
from drumline.core.errors import Fenced
from drumline.core.state import TERMINAL, Act, State
from drumline.ports.store import Settled, Settlement
from drumline.stores.postgres import PostgresStore
from tests.child_factories import (
    CHILD,
    GROUP,
    PARENT,
    Family,
    children_of,
    claim_child,
    claim_parent,
    family,
    parked,
)
from tests.durable_factories import wait
from tests.factories import claim, settle, state_of
from tests.postgres.polling import until

ROUNDS: Final = 10


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


async def is_woken_or_answered(store: PostgresStore, found: Family) -> bool:
    """Tell whether the parent is due, and its wait can be answered."""
    again = await claim_parent(store, found)
    return isinstance(await wait(store, again.lease, GROUP), Answered)


async def test_the_last_child_and_a_park_lose_no_wake_up(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        found = await family(store, 2)
        one, two = await claim(store, found.session, CHILD, limit=2)

        answer, *_ = await asyncio.gather(
            wait(store, found.lease, GROUP),
            settle(store, one.lease, Act.COMPLETE),
            settle(store, two.lease, Act.COMPLETE),
        )

        if isinstance(answer, Settled):
            assert await is_woken_or_answered(store, found)
        else:
            assert isinstance(answer, Answered)
        await store.control.cancel([found.parent], force=True)


@pytest.mark.parametrize("parent_row_first", [True, False])
async def test_the_end_of_a_child_waits_for_a_park_that_has_the_lock(
    store: PostgresStore, postgres_url: str, parent_row_first: bool
) -> None:
    """A child's end that has begun before the park's commit must see its wait row: a later statement looks."""
    found = await family(store) if parent_row_first else await parked(store)
    child = await claim_child(store, found)
    other = await asyncpg.connect(postgres_url)
    try:
        lock = other.transaction()
        await lock.start()
        await other.execute("SELECT FROM drumline.task WHERE id = $1 FOR NO KEY UPDATE", found.parent)
        ending = asyncio.create_task(settle(store, child.lease, Act.COMPLETE))
        await until(lambda: waiting(other))
        if parent_row_first:  # what a park writes
            await other.execute(
                "UPDATE drumline.task_live SET state = 1, epoch = epoch + 1, nonce = 0, due_at = 253402300799999 "
                "WHERE id = $1",
                found.parent,
            )
            await other.execute(
                "INSERT INTO drumline.task_wait (task_id, since, epoch, kind, name, key, reason, pending, wake_at) "
                "VALUES ($1, 0, 1, 5, 'c', '', '', 1, 0)",
                found.parent,
            )
        await lock.commit()
        settled = await ending
    finally:
        await other.close()

    assert [hint.task for hint in settled.effects.released] == [found.parent]
    assert await is_woken_or_answered(store, found)


async def waiting(connection: "asyncpg.Connection[asyncpg.Record]") -> bool:
    return bool(await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))


async def test_ends_of_many_children_at_once_count_each_once(store: PostgresStore) -> None:
    found = await parked(store, 40)
    claimed = []
    while batch := await claim(store, found.session, CHILD, limit=10):
        claimed += batch

    await asyncio.gather(
        *(
            store.settle([Settlement(lease=each.lease, act=Act.COMPLETE) for each in claimed[start : start + 4]])
            for start in range(0, 40, 4)
        )
    )

    assert len(claimed) == 40
    assert await is_woken_or_answered(store, found)


async def test_the_last_child_and_a_cancel_of_the_parent_end_both(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        found = await parked(store, 2)
        child = await claim_child(store, found)

        await asyncio.gather(
            settle(store, child.lease, Act.COMPLETE), store.control.cancel([found.parent]), store.children.work_notes()
        )
        await store.children.work_notes()

        states = {await state_of(store, task) for task in (found.parent, *found.children)}
        assert states <= TERMINAL
        assert await state_of(store, found.parent) is State.CANCELLED


async def test_a_start_and_a_reap_leave_no_orphan(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        found = await family(store)

        answer, _ = await asyncio.gather(
            store.children.start(children_of(found.lease, name="later")),
            store.sessions.reap([(found.session, 0)], poison_after=1),
        )
        while (await store.children.work_notes()).changed:
            pass

        page = await store.children.links(found.parent, after=None, limit=10)
        assert not isinstance(page, Exception)
        assert len(page.links) == (1 if isinstance(answer, Fenced) else 2)
        assert await state_of(store, found.parent) is State.FAILED
        assert {await state_of(store, link.child) for link in page.links} == {State.CANCELLED}
        assert await claim(store, found.session, CHILD) == []


async def test_a_start_and_a_settlement_leave_no_orphan(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        found = await family(store)

        await asyncio.gather(
            store.children.start(children_of(found.lease, name="later")), settle(store, found.lease, Act.COMPLETE)
        )
        while (await store.children.work_notes()).changed:
            pass

        page = await store.children.links(found.parent, after=None, limit=10)
        assert not isinstance(page, Exception)
        assert {await state_of(store, link.child) for link in page.links} == {State.CANCELLED}


async def test_a_retry_of_a_child_and_an_answer_agree(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        found = await parked(store)
        await settle(store, (await claim_child(store, found)).lease, Act.FAIL)
        again = await claim_parent(store, found)

        answer, _ = await asyncio.gather(wait(store, again.lease, GROUP), store.control.retry([found.children[0]]))

        child = await claim_child(store, found)
        await settle(store, child.lease, Act.COMPLETE)
        if isinstance(answer, Settled):  # the retry came first: its end counts
            assert await is_woken_or_answered(store, found)
        else:
            assert await claim(store, found.session, PARENT) == []
        await store.control.cancel([found.parent], force=True)


async def test_ends_of_two_generations_in_one_batch_wait_for_nobody(store: PostgresStore) -> None:
    """A child that ends while it is a parent itself, against ends of its children: rows are locked in one order."""
    for _ in range(ROUNDS):
        found = await family(store, 2)
        middle = await claim_child(store, found)
        started = await store.children.start(children_of(middle.lease, 3))
        assert not isinstance(started, Exception)
        leaves = await claim(store, found.session, CHILD, limit=4)

        async with asyncio.timeout(30):
            await asyncio.gather(
                store.settle([Settlement(lease=each.lease, act=Act.COMPLETE) for each in (middle, *leaves[:2])]),
                store.settle([Settlement(lease=each.lease, act=Act.COMPLETE) for each in reversed(leaves[2:])]),
                store.durable.record([NewRecord(lease=found.lease, name="r")]),
                wait(store, found.lease, GROUP),
            )

        assert await state_of(store, middle.lease.task) is State.COMPLETED
        await store.control.cancel([found.parent], force=True)
        await store.children.work_notes()
