"""The server goes away in every way it can; nothing acknowledged is lost, and nobody has to help."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from uuid import UUID

import asyncpg
import pytest

from drumline.core.errors import Fenced, Invalid, Unavailable
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.session import SESSION_TTL, Beat
from drumline.core.state import TERMINAL, Act, State
from drumline.core.task import Submitted, accept
from drumline.ports.store import Settlement
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.database import DEFAULT_BUDGET, Budget
from tests.factories import claim, claim_one, claim_request, new_id, open_session, request, settle, state_of, submit
from tests.harness.postgres import PostgresServer
from tests.harness.proxy import Proxy
from tests.postgres.polling import until

pytestmark = pytest.mark.faults

NONCE = 0x5EED_F00D_1234_5678
"""Found in what passes on its way to the server."""
QUICK = Budget(connect=2, statement=1.5)


@pytest.fixture
async def far(proxy: Proxy, postgres_url: str) -> AsyncIterator[PostgresStore]:
    """The store, reached through the proxy."""
    store = await PostgresStore.open(proxy.url(postgres_url), budget=QUICK)
    yield store
    proxy.heal()
    await store.close()


@pytest.fixture
async def patient(proxy: Proxy, postgres_url: str) -> AsyncIterator[PostgresStore]:
    """The same for somebody who waits: what ends a wait here is the connection, however busy the machine is."""
    store = await PostgresStore.open(proxy.url(postgres_url), budget=Budget(connect=30, statement=60, settle=60))
    yield store
    proxy.heal()
    await store.close()


class Load:
    """Submits and completes tasks without pause, and remembers what the store has promised."""

    def __init__(self, store: PostgresStore) -> None:
        self.acknowledged: set[TaskId] = set()
        self.completed: set[TaskId] = set()
        self.stop = asyncio.Event()
        self._store = store

    async def produce(self) -> None:
        while not self.stop.is_set():
            tasks = [accept(request(), id=new_id()) for _ in range(20)]
            try:
                answers = await self._store.submit(tasks)
            except Unavailable:
                await asyncio.sleep(0.05)
            else:
                self.acknowledged.update(answer.id for answer in answers if isinstance(answer, Submitted))

    async def work(self) -> None:
        ada = await open_session(self._store)
        while not self.stop.is_set():
            try:
                await self._complete([task.lease for task in await claim(self._store, ada, limit=10)])
            except Unavailable:
                await asyncio.sleep(0.05)

    async def _complete(self, leases: list[Lease]) -> None:
        answers = await self._store.settle([Settlement(lease=lease, act=Act.COMPLETE) for lease in leases])
        for lease, answer in zip(leases, answers, strict=True):
            if not isinstance(answer, Fenced):
                self.completed.add(lease.task)


async def test_a_crash_of_the_server_under_load_loses_nothing_acknowledged(durable_postgres: PostgresServer) -> None:
    store = await PostgresStore.open(durable_postgres.url(), budget=Budget(connect=2, statement=5))
    await store.migrate()
    load = Load(store)

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(load.produce())
            group.create_task(load.work())
        await until(lambda: len(load.completed) > 100)
        await asyncio.to_thread(durable_postgres.crash)
        await asyncio.to_thread(durable_postgres.start)
        seen = len(load.completed)
        await until(lambda: len(load.completed) > seen + 100)
        load.stop.set()

    views = await store.queries.get(sorted(load.acknowledged), payload=False)
    assert None not in views
    ended = await store.queries.get(sorted(load.completed), payload=False)
    assert {view.state for view in ended if view} == {State.COMPLETED}
    assert None not in ended
    await store.close()


async def test_a_store_reconnects_by_itself_after_a_restart(durable_postgres: PostgresServer) -> None:
    store = await PostgresStore.open(durable_postgres.url())
    await store.migrate()
    task = await submit(store)

    await asyncio.to_thread(durable_postgres.stop)
    with pytest.raises(Unavailable):
        await submit(store)
    await asyncio.to_thread(durable_postgres.start)

    assert await state_of(store, task) is State.QUEUED
    assert await submit(store)
    await store.close()


async def test_connections_that_were_cut_while_idle_are_not_noticed(far: PostgresStore, proxy: Proxy) -> None:
    task = await submit(far)
    ada = await open_session(far)
    lease = (await claim_one(far, ada)).lease

    proxy.reset()

    await settle(far, lease, Act.COMPLETE)
    assert await state_of(far, task) is State.COMPLETED


async def test_a_stalled_server_costs_a_bounded_time(far: PostgresStore, proxy: Proxy) -> None:
    await submit(far)
    proxy.stall()
    began = monotonic()

    with pytest.raises(Unavailable):
        await submit(far)

    assert monotonic() - began < DEFAULT_BUDGET.statement
    proxy.heal()
    assert await submit(far)


async def test_a_beat_on_a_dead_connection_leaves_time_for_another(proxy: Proxy, postgres_url: str) -> None:
    far = await PostgresStore.open(proxy.url(postgres_url), budget=Budget(connect=2, statement=60, settle=0.5))
    ada = await open_session(far)
    proxy.stall()
    began = monotonic()

    with pytest.raises(Unavailable):
        await far.sessions.beat([Beat(session=ada)])

    assert monotonic() - began < 30, "half of what statements may take, and sixty times what this one may"
    assert DEFAULT_BUDGET.settle <= SESSION_TTL / 3
    proxy.heal()
    assert (await far.sessions.beat([Beat(session=ada)]))[0].is_open
    await far.close()


async def test_a_stalled_claim_does_not_hold_up_a_settlement(store: PostgresStore, postgres_url: str) -> None:
    task = await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    blocker = await asyncpg.connect(postgres_url)
    await blocker.execute("BEGIN; LOCK TABLE drumline.lane IN ACCESS EXCLUSIVE MODE")
    claims = [asyncio.create_task(claim(store, ada)) for _ in range(5)]

    async with asyncio.timeout(5):
        await settle(store, lease, Act.COMPLETE)

    await blocker.execute("ROLLBACK")
    await blocker.close()
    await asyncio.gather(*claims)
    assert await state_of(store, task) is State.COMPLETED


async def test_a_claim_whose_answer_was_lost_is_answered_after_all(
    patient: PostgresStore, proxy: Proxy, store: PostgresStore
) -> None:
    task = await submit(store)
    ada = await open_session(store)
    assert await claim(patient, ada) != []
    await store.control.cancel([task], force=True)
    lost = await submit(store)

    # Not the answer to anything else: a claim may ask other things first, if some time has gone by since the last one.
    proxy.hold_answer_to(NONCE.to_bytes(8))
    claiming = asyncio.create_task(claim(patient, ada, nonce=NONCE))
    await until(lambda: is_running(store, lost))
    proxy.reset()
    proxy.heal()

    (claimed,) = await claiming
    assert claimed.lease.task == lost
    assert (await settle(store, claimed.lease, Act.COMPLETE)).state is State.COMPLETED


@pytest.mark.parametrize(
    ("act", "question", "state"),
    [  # one statement, and a transaction
        (Act.COMPLETE, NONCE.to_bytes(8), State.COMPLETED),
        (Act.FAIL, b"COMMIT\0", State.FAILED),
    ],
)
async def test_a_settlement_whose_answer_was_lost_is_answered_after_all(
    patient: PostgresStore, proxy: Proxy, store: PostgresStore, act: Act, question: bytes, state: State
) -> None:
    await submit(store)
    ended = await submit(store)
    ada = await open_session(store)
    first, second = [task.lease for task in await claim(patient, ada, nonce=NONCE)]
    await settle(patient, first, act)

    proxy.hold_answer_to(question)
    settling = asyncio.create_task(settle(patient, second, act))
    await until(lambda: is_ended(store, ended))
    proxy.reset()
    proxy.heal()

    assert (await settling).state is state


async def test_a_submission_whose_answer_was_lost_makes_each_task_once(
    patient: PostgresStore, proxy: Proxy, store: PostgresStore
) -> None:
    await submit(patient)
    tasks = [accept(request(idempotency_key=f"k{n}" if n % 2 else None), id=new_id()) for n in range(6)]

    proxy.hold_answer_to(UUID(tasks[0].id).bytes)
    submitting = asyncio.create_task(patient.submit(tasks[::2]))
    await until(lambda: is_stored(store, tasks[0].id))
    proxy.reset()
    proxy.heal()
    answers = await submitting
    again = await store.submit(tasks)
    once_more = await store.submit(tasks)

    assert [answer.id for answer in answers if isinstance(answer, Submitted)] == [task.id for task in tasks[::2]]
    for given in (again, once_more):
        assert [answer.id for answer in given if isinstance(answer, Submitted) and answer.created] == [
            task.id for task in tasks
        ]


async def test_a_caller_that_gives_up_leaves_a_store_that_works(far: PostgresStore, proxy: Proxy) -> None:
    await submit(far)
    proxy.stall()
    waiting = [asyncio.create_task(submit(far)) for _ in range(10)]
    await asyncio.sleep(0.1)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    proxy.heal()

    assert await submit(far)


async def test_a_closed_store_refuses_and_waits_for_what_is_under_way(store: PostgresStore) -> None:
    ada = await open_session(store)
    await submit(store)
    under_way = asyncio.create_task(submit(store))
    await asyncio.sleep(0)

    await store.close()

    assert await under_way
    with pytest.raises(Unavailable, match="closed"):
        await store.claim([claim_request(ada)])


async def is_running(store: PostgresStore, task: TaskId) -> bool:
    return await state_of(store, task) is State.RUNNING


async def is_ended(store: PostgresStore, task: TaskId) -> bool:
    return await state_of(store, task) in TERMINAL


async def is_stored(store: PostgresStore, task: TaskId) -> bool:
    return (await store.queries.get([task]))[0] is not None


async def test_a_login_that_is_refused_is_told_at_once(postgres_url: str) -> None:
    address = postgres_url.partition("://")[2].rpartition("@")[2]

    with pytest.raises(Invalid, match=f"{address} refused the login.*\nSet store_url") as refused:
        await PostgresStore.open(f"postgresql://nobody_here@{address}")

    assert refused.value.field == "store_url"


async def test_a_database_that_cannot_be_had_is_named_by_its_address_and_never_by_its_password(
    postgres_url: str,
) -> None:
    address = postgres_url.partition("://")[2].rpartition("@")[2].partition("/")[0]

    with pytest.raises(Unavailable) as nobody:
        await PostgresStore.open("postgresql://drumline:geheim@127.0.0.1:1/tasks")
    with pytest.raises(Unavailable) as missing:
        await PostgresStore.open(f"postgresql://drumline:geheim@{address}/not_made_yet")

    assert "cannot be reached" in nobody.value.message
    assert "(127.0.0.1:1/tasks)" in nobody.value.message
    assert 'database "not_made_yet" does not exist' in missing.value.message
    assert "cannot be reached" not in missing.value.message
    assert "geheim" not in nobody.value.message + missing.value.message
