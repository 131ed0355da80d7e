"""Positions in the log, where transactions are slow, many sequence at once, and a pooler stands in between."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg
import pytest

from drumline.core.event import Event
from drumline.core.ids import SessionId, TaskId
from drumline.core.state import Act, State
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.connection import Connection
from tests.factories import claim, open_session, settle, submit
from tests.harness.pgbouncer import PgBouncer
from tests.postgres.polling import until

WRITE = """
INSERT INTO drumline.outbox (at, tasks, acts, states, epochs, facts)
VALUES (0, '{}', '{}', '{}', '{}', '[["drumline.test.told", "' || $1 || '", "", {}]]') RETURNING seq
"""


@pytest.fixture
async def slow(postgres_url: str) -> AsyncIterator[Connection]:
    """Another program's connection, whose transactions take their time."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def read_all(store: PostgresStore, after: int) -> tuple[list[str], int]:
    """Return the subjects behind a position, and the position after them."""
    await store.events.sequence()
    page = await store.events.read_events(after=after, limit=1000)
    return [event.subject for event in page.events], page.position


async def start(store: PostgresStore) -> int:
    await store.events.sequence()
    return (await store.events.log_span()).last


async def complete_all(store: PostgresStore, session: SessionId) -> None:
    while tasks := await claim(store, session):
        for task in tasks:
            await settle(store, task.lease, Act.COMPLETE)


async def test_a_slow_transaction_is_not_skipped(store: PostgresStore, slow: Connection) -> None:
    position = await start(store)
    transaction = slow.transaction()
    await transaction.start()
    slow_seq = await slow.fetchval(WRITE, "slow")

    quick = await submit(store)
    first, position = await read_all(store, position)
    await transaction.commit()
    second, position = await read_all(store, position)

    assert (first, second) == ([quick], ["slow"])
    assert slow_seq < await slow.fetchval("SELECT max(seq) FROM drumline.outbox"), "else there was nothing to skip"


async def test_a_reader_by_number_would_skip_it(store: PostgresStore, slow: Connection) -> None:
    """The mistake that positions are there for: it must show here, or the test above shows nothing."""

    async def by_number(last: int) -> list[int]:
        return [row[0] for row in await slow.fetch("SELECT seq FROM drumline.outbox WHERE seq > $1 ORDER BY 1", last)]

    other = await asyncpg.connect(store._database.url)
    began = await slow.fetchval("SELECT coalesce(max(seq), 0) FROM drumline.outbox")
    transaction = other.transaction()
    await transaction.start()
    missed = await other.fetchval(WRITE, "slow")

    await submit(store)
    seen = await by_number(began)
    await transaction.commit()
    seen += await by_number(max(seen))

    await other.close()
    assert missed not in seen


async def test_a_transaction_that_was_taken_back_holds_nobody_up(store: PostgresStore, slow: Connection) -> None:
    position = await start(store)
    transaction = slow.transaction()
    await transaction.start()
    await slow.fetchval(WRITE, "never")
    await transaction.rollback()
    task = await submit(store)

    assert (await read_all(store, position))[0] == [task]


async def test_a_sequencer_that_dies_holds_the_lock_no_longer(store: PostgresStore, slow: Connection) -> None:
    position = await start(store)
    await slow.execute("BEGIN")
    await slow.execute("SELECT 1 FROM drumline.event_log FOR UPDATE")
    task = await submit(store)

    async def is_sequenced() -> bool:
        return await store.events.sequence() > 0

    while_locked = await store.events.sequence()
    slow.terminate()
    await until(is_sequenced)

    assert while_locked == 0
    assert (await read_all(store, position))[0] == [task]


async def test_many_sequencers_give_each_row_one_position_in_order(store: PostgresStore, postgres_url: str) -> None:
    position = await start(store)
    ada = await open_session(store)
    done = asyncio.Event()

    async def sequence() -> None:
        one = await PostgresStore.open(postgres_url)
        while not done.is_set():
            await one.events.sequence(limit=3)
        await one.close()

    async def live() -> list[TaskId]:
        """Bring tasks through their lives, each by itself, with a little disorder between them."""
        ids = []
        for _ in range(12):
            ids.append(await submit(store))
            await complete_all(store, ada)
        return ids

    async def are_all_completed() -> bool:
        await complete_all(store, ada)  # on a slow machine a claim may look at the newest tasks only, but not for ever
        return all(view is not None and view.state is State.COMPLETED for view in await store.queries.get(ids))

    sequencing = [asyncio.create_task(sequence()) for _ in range(4)]
    ids = [task for tasks in await asyncio.gather(*(live() for _ in range(4))) for task in tasks]
    await until(are_all_completed)
    done.set()
    await asyncio.gather(*sequencing)
    await store.events.sequence()
    events = (await store.events.read_events(after=position, limit=10_000)).events

    lives = {task: [event.type.rpartition(".")[2] for event in events if event.subject == task] for task in ids}
    assert set(map(tuple, lives.values())) == {("submitted", "claimed", "completed")}
    places = [event.place for event in events]
    assert places == sorted(set(places))


async def test_the_numbers_of_rows_are_drawn_one_by_one(slow: Connection) -> None:
    """Connections that drew numbers in advance would give a later act a lower one."""
    cache = await slow.fetchval(
        "SELECT cache_size FROM pg_sequences WHERE schemaname = 'drumline' AND sequencename = 'outbox_seq_seq'"
    )

    assert cache == 1


async def test_the_log_works_through_a_pooler(pgbouncer: PgBouncer, store: PostgresStore, postgres_url: str) -> None:
    position = await start(store)
    pooled = await PostgresStore.open(pgbouncer.url(urlsplit(postgres_url).path[1:]))
    task = await submit(pooled)

    subjects, last = await read_all(pooled, position)
    cursor = await pooled.events.take_cursor("ada", holder=1, seconds=30)

    assert subjects == [task]
    assert cursor is not None
    assert await pooled.events.move_cursor("ada", holder=1, old=cursor, new=last)
    await pooled.close()


async def test_a_large_batch_is_read_whole(store: PostgresStore) -> None:
    position = await start(store)
    tasks = [await submit(store) for _ in range(300)]
    await store.control.cancel(tasks)
    await store.events.sequence()

    events: list[Event] = []
    while page := (await store.events.read_events(after=position, limit=100)).events:
        events += page
        position = page[-1].place.position

    assert len(events) == 600
    assert len({event.id for event in events}) == 600
