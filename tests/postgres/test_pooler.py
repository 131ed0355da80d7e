"""Behind PgBouncer in transaction mode, where two statements in a row may meet two servers."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from drumline.core.state import Act, State
from drumline.core.task import accept
from drumline.ports.store import Change, Changed, LogChunk, Settled, Settlement
from drumline.stores.postgres import NotifyQueue, PostgresStore
from tests.factories import beat, claim, log_of, new_id, open_session, request, settle, submit
from tests.harness.pgbouncer import PgBouncer


@pytest.fixture
async def pooled(pgbouncer: PgBouncer, postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(pgbouncer.url(urlsplit(postgres_url).path[1:]))
    yield store
    await store.close()


async def test_a_pooler_is_noticed(pooled: PostgresStore) -> None:
    assert (await pooled.check())["pooled"] is True


async def test_a_pooler_that_ignores_what_it_does_not_know_is_noticed_too(
    postgres_server_url: str, postgres_url: str
) -> None:
    ignored = "drumline.direct,jit,plan_cache_mode,enable_seqscan,enable_hashjoin,enable_mergejoin,enable_bitmapscan"
    ignored += ",default_transaction_isolation,idle_in_transaction_session_timeout,tcp_user_timeout,statement_timeout"
    pooler = PgBouncer(postgres_server_url, settings={"ignore_startup_parameters": ignored})

    store = await PostgresStore.open(pooler.url(urlsplit(postgres_url).path[1:]))

    assert (await store.check())["pooled"] is True
    assert await submit(store)
    await store.close()
    pooler.remove()


async def test_a_server_of_our_own_is_noticed(store: PostgresStore) -> None:
    assert (await store.check())["pooled"] is False


async def test_a_pooled_connection_is_ready_for_the_first_task_as_well(pooled: PostgresStore) -> None:
    await pooled.prepare()

    assert await submit(pooled)


async def test_a_task_lives_its_whole_life_behind_a_pooler(pooled: PostgresStore) -> None:
    task = await submit(pooled, idempotency_key="k", tags=("t",))
    ada = await open_session(pooled)
    (first,) = await claim(pooled, ada)
    await settle(pooled, first.lease, Act.BACK_OFF)
    (again,) = await claim(pooled, ada, hints=(task,))
    await pooled.sessions.beat([beat(ada, again.lease)])
    await pooled.outputs.append_log([LogChunk(task=task, epoch=again.lease.epoch, seq=0, text="hello")])
    await pooled.control.cancel([task])
    ended = await settle(pooled, again.lease, Act.RELEASE)
    (retried,) = await pooled.control.retry([task])
    (moved,) = await pooled.control.reschedule([Change(task=task, delay_ms=60_000)])
    await pooled.sessions.reap([], poison_after=3)

    (view,) = await pooled.queries.get([task])

    assert ended.state is State.CANCELLED
    assert isinstance(retried, Changed)
    assert isinstance(moved, Changed)
    assert view is not None
    assert view.state is State.QUEUED
    assert [attempt.outcome.word for attempt in await pooled.queries.attempts(task)] == ["retried", "cancelled"]
    assert await log_of(pooled, task) == "hello"


async def test_many_at_once_share_the_pooler_s_few_connections(pooled: PostgresStore) -> None:
    async def live(number: int) -> int:
        name = f"name {number}"
        tasks = [accept(request(name), id=new_id()) for _ in range(20)]
        await pooled.submit(tasks)
        session = await open_session(pooled, name)
        claimed = await claim(pooled, session, name, limit=50)
        settled = await pooled.settle([Settlement(lease=each.lease, act=Act.COMPLETE) for each in claimed])
        return sum(isinstance(answer, Settled) for answer in settled)

    assert await asyncio.gather(*(live(number) for number in range(20))) == [20] * 20


async def test_nobody_listens_through_a_pooler(pgbouncer: PgBouncer, postgres_url: str) -> None:
    queue = NotifyQueue(pgbouncer.url(urlsplit(postgres_url).path[1:]))

    async with asyncio.timeout(10):
        await queue.listen(lambda _queue, _count: None)

    await queue.close()
