"""Numbers that grow with a task's history have room to grow."""

import asyncpg

from drumline.core.clock import ManualClock
from drumline.core.state import Act
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_one, open_session, settle, submit

MANY = 100_000


async def test_a_task_may_be_tried_more_often_than_a_small_number_holds(postgres_url: str) -> None:
    store = await PostgresStore.open(postgres_url, clock=ManualClock())
    task = await submit(store, retries=0)
    ada = await open_session(store)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("UPDATE drumline.task_live SET attempt = $1, failures = $1, crashes = $1", MANY)
    await connection.close()

    claimed = await claim_one(store, ada)
    await settle(store, claimed.lease, Act.BACK_OFF)
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL)
    await store.control.retry([task])

    assert claimed.attempt == MANY + 1
    assert (await claim_one(store, ada)).attempt == MANY + 3
    await store.close()
