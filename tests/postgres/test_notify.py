import asyncio
from collections import Counter

import asyncpg
import pytest

from drumline.core.clock import Instant
from drumline.core.ids import SessionId
from drumline.core.task import Lane
from drumline.ports.store import Hint
from drumline.stores.postgres import NotifyQueue, notify
from drumline.stores.postgres.notify import LONGEST, messages, parse
from tests.factories import claim_request, new_id
from tests.postgres.polling import until


def hints(queue: str, count: int) -> list[Hint]:
    return [Hint(new_id(), Lane("default", queue, "work", 0), Instant(0)) for _ in range(count)]


class Listener:
    """Counts what a queue was woken for."""

    def __init__(self, queue: NotifyQueue) -> None:
        self.heard: Counter[str] = Counter()
        self._task = asyncio.create_task(queue.listen(self._woken))

    def _woken(self, queue: str, count: int) -> None:
        self.heard[queue] += count

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def listening(url: str, count: int) -> None:
    """Wait until so many connections listen."""

    async def look() -> bool:
        connection = await asyncpg.connect(url)
        found = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
        await connection.close()
        return bool(found == count)

    await until(look)


async def test_a_push_wakes_other_processes_once_per_batch(postgres_url: str) -> None:
    here, there = NotifyQueue(postgres_url), NotifyQueue(postgres_url)
    listener = Listener(there)
    await listening(postgres_url, 1)

    await here.push([*hints("a", 3), *hints("b", 1)])

    await until(lambda: listener.heard == {"a": 3, "b": 1})
    await listener.stop()
    await here.close()
    await there.close()


async def test_a_process_does_not_hear_itself(postgres_url: str) -> None:
    here, there = NotifyQueue(postgres_url), NotifyQueue(postgres_url)
    mine, theirs = Listener(here), Listener(there)
    await listening(postgres_url, 2)

    await here.push(hints("a", 1))
    await until(lambda: theirs.heard == {"a": 1})

    assert mine.heard == {}
    for listener, queue in ((mine, here), (theirs, there)):
        await listener.stop()
        await queue.close()


async def test_many_pushes_at_once_are_told_together_and_none_is_forgotten(postgres_url: str) -> None:
    here, there = NotifyQueue(postgres_url), NotifyQueue(postgres_url)
    listener = Listener(there)
    await listening(postgres_url, 1)

    await asyncio.gather(*(here.push(hints(f"q{number % 7}", 2)) for number in range(100)))

    await until(lambda: listener.heard.total() == 200)
    await listener.stop()
    await here.close()
    await there.close()


async def test_a_listener_whose_connection_was_cut_listens_again(postgres_url: str) -> None:
    here, there = NotifyQueue(postgres_url), NotifyQueue(postgres_url)
    listener = Listener(there)
    await listening(postgres_url, 1)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
    await connection.close()

    async def pushed_and_heard() -> bool:
        await here.push(hints("a", 1))
        return bool(listener.heard)

    await until(pushed_and_heard)
    await listener.stop()
    await here.close()
    await there.close()


async def test_a_listener_that_hears_nothing_for_a_while_listens_on(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "PROBE_EVERY", 0.01)
    here, there = NotifyQueue(postgres_url), NotifyQueue(postgres_url)
    listener = Listener(there)

    async def has_probed() -> bool:
        connection = await asyncpg.connect(postgres_url)
        looks = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT 1' AND datname = current_database()"
        found = await connection.fetchval(looks)
        await connection.close()
        return bool(found)

    await until(has_probed)
    await here.push(hints("a", 1))

    await until(lambda: listener.heard == {"a": 1})
    await listener.stop()
    await here.close()
    await there.close()


async def test_a_push_to_a_database_that_is_away_is_no_error() -> None:
    queue = NotifyQueue("postgresql://nobody@127.0.0.1:1/nothing")

    await queue.push(hints("a", 1))

    await queue.close()


async def test_no_hints_are_kept(postgres_url: str) -> None:
    queue = NotifyQueue(postgres_url)
    pushed = hints("a", 1)

    await queue.push(pushed)
    await queue.drop([hint.task for hint in pushed])

    assert await queue.pop(claim_request(SessionId(1))) is None
    assert await queue.check() is None
    await queue.close()


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_notifications_are_short_enough_for_postgresql(count: int) -> None:
    counts = Counter(
        {f"queue-with-a-long-name-{number}@x:y=z".replace("=", "."): number + 1 for number in range(count)}
    )

    sent = messages("origin", counts)

    assert all(len(message) <= LONGEST for message in sent)
    heard: Counter[str] = Counter()
    for message in sent:
        origin, part = parse(message)
        assert origin == "origin"
        heard.update(part)
    assert heard == counts


async def test_a_signal_reaches_other_processes(postgres_url: str) -> None:
    here, there = NotifyQueue(postgres_url), NotifyQueue(postgres_url)
    listener = Listener(there)
    await listening(postgres_url, 1)

    await here.signal("!stop")

    await until(lambda: listener.heard["!stop"] == 1)
    assert there.carries_signals
    await listener.stop()
    await here.close()
    await there.close()
