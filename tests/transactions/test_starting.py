"""How tasks that a caller's transaction has stored start soon after the commit."""

import asyncio

import psycopg
import pytest

from drumline import Drumline
from drumline.core.ids import TaskId
from drumline.ports.hint import Hint
from drumline.scheduler.stored import StoredTasks
from drumline.stores.postgres import NotifyQueue, PostgresStore
from drumline.stores.postgres.notify import LONGEST, MOST_STORED, STORED, NotifyListener, stored_messages
from tests.factories import new_id
from tests.postgres.polling import until
from tests.postgres.test_notify import Listener, listening

pytestmark = pytest.mark.services

app = Drumline("shop", url="http://127.0.0.1:1")


@app.task(queue="billing")
def charge(order: int) -> int:
    return order


async def test_those_who_wait_are_woken_by_the_commit_and_not_by_a_rollback(shop_postgres: str) -> None:
    queue = NotifyQueue(shop_postgres)
    listener = Listener(queue)
    await listening(shop_postgres, 1)

    async with await psycopg.AsyncConnection.connect(shop_postgres) as connection:
        await charge.asubmit(1, tx=connection)
        await connection.rollback()
        await charge.asubmit(2, tx=connection)
        await charge.asubmit(3, tx=connection)
        await charge.options(delay="1h").asubmit(4, tx=connection)

    await until(lambda: listener.heard == {"billing": 2})
    await listener.stop()
    await queue.close()


async def test_schedulers_offer_what_a_commit_names(shop_postgres: str) -> None:
    store = await PostgresStore.open(shop_postgres)
    offered: list[Hint] = []
    stored = StoredTasks(store, offered.extend, NotifyListener(shop_postgres, STORED).listen)
    stop = asyncio.Event()
    running = asyncio.create_task(stored.run(stop))
    await listening(shop_postgres, 1)

    async with await psycopg.AsyncConnection.connect(shop_postgres) as connection:
        handles = [await charge.asubmit(number, tx=connection) for number in range(3)]
        await connection.execute("SELECT pg_notify('drumline_stored', 'what others say')")

    await until(lambda: len(offered) == 3)
    assert [hint.task for hint in offered] == [handle.id for handle in handles]
    assert {hint.lane.queue for hint in offered} == {"billing"}
    stop.set()
    await running
    await store.close()


async def test_a_task_that_does_not_wait_any_more_is_not_offered(shop_postgres: str) -> None:
    store = await PostgresStore.open(shop_postgres)
    offered: list[Hint] = []

    async def listen(_heard: object) -> bool:
        return False

    stored = StoredTasks(store, offered.extend, listen)
    stored.heard(f"{new_id()} nonsense")

    assert await stored.pass_once() == 0
    assert offered == []
    await store.close()


def test_notifications_fit_and_very_many_tasks_are_left_to_the_sweep() -> None:
    messages = stored_messages([TaskId(new_id()) for _ in range(3 * MOST_STORED)])

    assert all(len(message) <= LONGEST for message in messages)
    assert sum(len(message.split()) for message in messages) == MOST_STORED
