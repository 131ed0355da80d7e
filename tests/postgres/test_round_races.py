"""Restarts against signals, cancels, reaps, records and ends of children, from several connections at once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import pytest
from msgspec import Raw

from drumline.core.durable import Answered, Record, RestartRequest, Wait, WaitKind
from drumline.core.errors import Fenced
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.ports.children import StartedChildren
from drumline.ports.durable import Restarted, Signalled
from drumline.ports.store import Settled, Settlement
from drumline.stores.postgres import PostgresStore
from tests.child_factories import CALL, CHILD, children_of, claim_child, claim_parent, family
from tests.durable_factories import names_of, record, signal, step, steps_of, wait
from tests.factories import claim, claim_one, open_session, settle, state_of, submit

ROUNDS: Final = 20
APPROVED: Final = Wait(kind=WaitKind.SIGNAL, name="approved")


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


async def running(store: PostgresStore) -> tuple[SessionId, Lease]:
    await submit(store)
    session = await open_session(store)
    return session, (await claim_one(store, session)).lease


async def restart(store: PostgresStore, lease: Lease, payload: bytes = b'{"n":2}') -> Restarted:
    return await store.durable.restart(RestartRequest(lease=lease, payload=Raw(payload)))


async def test_a_signal_and_a_restart_leave_the_signal_for_the_next_round(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        session, lease = await running(store)

        restarted, sent = await asyncio.gather(restart(store, lease), signal(store, lease.task, "approved", 1))

        assert isinstance(restarted, Settled)
        assert isinstance(sent, Signalled)
        again = (await claim_one(store, session)).lease
        answer = await wait(store, again, APPROVED)
        assert isinstance(answer, Answered)
        await store.control.cancel([lease.task], force=True)


async def test_a_cancel_and_a_restart_leave_the_task_cancelled(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        _, lease = await running(store)

        await asyncio.gather(restart(store, lease), store.control.cancel([lease.task]))

        assert await state_of(store, lease.task) is State.CANCELLED


async def test_a_reap_and_a_restart_have_one_outcome(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        session, lease = await running(store)
        await record(store, step(lease, "a"))

        restarted, _ = await asyncio.gather(restart(store, lease), store.sessions.reap([(session, 0)], poison_after=9))

        (view,) = await store.queries.get([lease.task])
        assert view is not None
        is_over = isinstance(restarted, Settled)
        assert (view.state, view.crashes) == (State.QUEUED, int(isinstance(restarted, Fenced)))
        assert await names_of(store, lease.task) == ([] if is_over else ["a"])
        assert len((await steps_of(store, lease.task)).rounds) == int(is_over)
        assert (bytes(view.payload or b"") == b'{"n":2}') is is_over
        assert len(await store.queries.attempts(lease.task)) == 1
        await store.control.cancel([lease.task])


async def test_a_record_and_a_restart_of_one_lease_leave_no_record_in_the_next_round(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        _, lease = await running(store)

        restarted, kept = await asyncio.gather(restart(store, lease), record(store, step(lease, "a")))

        assert isinstance(restarted, Settled)
        past = await store.durable.steps(lease.task, after=0, limit=9, round=1)
        assert not isinstance(past, Exception)
        assert [each.name for each in past.page.records] == (["a"] if isinstance(kept, Record) else [])
        assert await names_of(store, lease.task) == []
        (view,) = await store.queries.get([lease.task])
        assert view is not None
        again = (await claim(store, await open_session(store)))[0]
        assert again.recorded == 0
        await store.control.cancel([lease.task], force=True)


async def test_two_restarts_of_one_lease_begin_one_round(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        _, lease = await running(store)

        answers = await asyncio.gather(*(restart(store, lease, f'{{"n":{number}}}'.encode()) for number in range(4)))

        assert [isinstance(answer, Settled) for answer in answers] == [True] * 4
        assert len((await steps_of(store, lease.task)).rounds) == 1
        await store.control.cancel([lease.task])


async def test_a_restart_and_a_settlement_of_one_lease_have_one_outcome(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        _, lease = await running(store)

        restarted, settled = await asyncio.gather(
            restart(store, lease), store.settle([Settlement(lease=lease, act=Act.COMPLETE)])
        )

        state = await state_of(store, lease.task)
        assert isinstance(restarted, Settled)
        assert isinstance(settled[0], Settled)
        assert restarted.state is settled[0].state is state
        await store.control.cancel([lease.task])


async def test_the_last_child_and_a_restart_leave_the_next_round_alone(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        found = await family(store, 1)
        child = await claim_child(store, found)

        restarted, _ = await asyncio.gather(
            restart(store, found.lease), settle(store, child.lease, Act.COMPLETE, result=Raw(b'"old"'))
        )

        assert isinstance(restarted, Settled)
        await store.children.work_notes()
        assert await state_of(store, child.lease.task) is State.COMPLETED
        lease = (await claim_parent(store, found)).lease
        await store.children.start(children_of(lease))
        assert isinstance(await wait(store, lease, CALL), Settled)
        other = await claim_child(store, found)
        await settle(store, other.lease, Act.COMPLETE, result=Raw(b'"new"'))
        answer = await wait(store, (await claim_parent(store, found)).lease, CALL)
        assert isinstance(answer, Answered)
        ((_, outcome),) = answer.answers
        assert outcome is not None
        assert bytes(outcome.value) == b'"new"'
        await store.control.cancel([found.parent], force=True)


async def test_a_child_that_is_started_and_a_restart_leave_no_orphan(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        found = await family(store, 1)

        started, restarted = await asyncio.gather(
            store.children.start(children_of(found.lease, 2, name="d")), restart(store, found.lease)
        )

        assert isinstance(restarted, Settled)
        await store.children.work_notes()
        children = [*found.children, *(started.ids if isinstance(started, StartedChildren) else [])]
        assert {await state_of(store, child) for child in children} == {State.CANCELLED}
        assert await claim(store, found.session, CHILD) == []
        await store.control.cancel([found.parent])


async def test_the_first_child_that_is_started_and_a_restart_leave_no_orphan(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        session, lease = await running(store)

        started, restarted = await asyncio.gather(store.children.start(children_of(lease, 2)), restart(store, lease))

        assert isinstance(restarted, Settled)
        await store.children.work_notes()
        children = started.ids if isinstance(started, StartedChildren) else ()
        assert {await state_of(store, child) for child in children} <= {State.CANCELLED}
        assert [task.lease.task for task in await claim(store, session)] == [lease.task]
        await store.control.cancel([lease.task], force=True)


async def test_claims_at_the_time_of_a_restart_take_the_new_payload(store: PostgresStore) -> None:
    await submit(store)
    sessions = [await open_session(store) for _ in range(4)]
    (first,) = await claim(store, sessions[0])
    lease, payload = first.lease, b'{"n":0}'
    for number in range(1, 60):
        payload = f'{{"n":{number}}}'.encode()
        claiming = asyncio.gather(*(claim(store, session) for session in sessions))
        await restart(store, lease, payload)
        claims = await claiming
        taken = [task for tasks in claims for task in tasks] or await claim(store, sessions[0])
        assert [bytes(task.payload) for task in taken] == [payload]
        lease = taken[0].lease
