import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from drumline.core.errors import Unavailable
from drumline.stores.sqlite import SqliteStore
from drumline.stores.sqlite.database import Database
from tests.factories import submit


def database(path: Path | None) -> Database:
    return Database(path)


def insert(number: int) -> Callable[[sqlite3.Connection], int]:
    def act(connection: sqlite3.Connection) -> int:
        if number < 0:
            raise ValueError(number)
        connection.execute("INSERT INTO n VALUES (?)", (number,))
        return number

    return act


async def test_one_failing_act_does_not_take_its_neighbours_down(tmp_path: Path) -> None:
    made = database(tmp_path / "d.db")
    await made.write(lambda connection: connection.execute("CREATE TABLE n (n)").rowcount)

    answers = await asyncio.gather(*(made.write(insert(n)) for n in (1, -2, 3)), return_exceptions=True)

    rows = await made.read(lambda connection: connection.execute("SELECT n FROM n ORDER BY n").fetchall())
    assert (answers[0], answers[2]) == (1, 3)
    assert isinstance(answers[1], ValueError)
    assert rows == [(1,), (3,)]
    await made.close()


async def test_waiting_acts_share_one_commit(tmp_path: Path) -> None:
    made = database(tmp_path / "d.db")
    await made.write(lambda connection: connection.execute("CREATE TABLE n (n)").rowcount)
    traced: list[str] = []
    await made.write(lambda connection: connection.set_trace_callback(traced.append))

    await asyncio.gather(*(made.write(insert(n)) for n in range(200)))

    assert traced.count("COMMIT") < 50
    await made.close()


async def test_acts_asked_for_before_closing_are_done(tmp_path: Path) -> None:
    made = database(tmp_path / "d.db")
    await made.write(lambda connection: connection.execute("CREATE TABLE n (n)").rowcount)
    writes = [asyncio.create_task(made.write(insert(n))) for n in range(10)]
    await asyncio.sleep(0)

    await made.close()

    assert await asyncio.gather(*writes) == list(range(10))
    with pytest.raises(Unavailable):
        await made.write(insert(1))


async def test_every_commit_is_synced_to_the_disk(tmp_path: Path) -> None:
    made = database(tmp_path / "d.db")

    mode, level = await made.write(
        lambda connection: (
            connection.execute("PRAGMA journal_mode").fetchone()[0],
            connection.execute("PRAGMA synchronous").fetchone()[0],
        )
    )

    assert (mode, level) == ("wal", 2), "2 is FULL: an acknowledged commit survives a power cut"
    await made.close()


async def test_a_file_that_is_no_database_is_told_plainly(tmp_path: Path) -> None:
    (tmp_path / "d.db").write_bytes(b"this is not a database" * 100)

    with pytest.raises(Unavailable, match="not a database"):
        await SqliteStore.open(tmp_path / "d.db")

    assert str(tmp_path / "d.db") not in {file.path for file in psutil.Process().open_files()}


async def test_data_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "d.db")
    await store.close()
    with sqlite3.connect(tmp_path / "d.db") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()

    with pytest.raises(Unavailable, match="newer Drumline"):
        await SqliteStore.open(tmp_path / "d.db")


async def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "data" / "d.db")
    await submit(store)

    modes = {file.name: oct(file.stat().st_mode)[-3:] for file in (tmp_path / "data").iterdir()}

    assert set(modes.values()) == {"600"}, modes
    assert oct((tmp_path / "data").stat().st_mode)[-3:] == "700"
    await store.close()


async def test_two_stores_on_one_file_see_each_other_s_tasks(tmp_path: Path) -> None:
    one, two = [await SqliteStore.open(tmp_path / "d.db") for _ in range(2)]

    tasks = await asyncio.gather(*(submit(store) for store in (one, two) for _ in range(50)))

    assert None not in await one.queries.get(tasks)
    assert None not in await two.queries.get(tasks)
    await one.close()
    await two.close()


async def test_a_lock_that_another_process_keeps_is_waited_for_once_not_by_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.stores.sqlite.database.BUSY_SECONDS", 0.5)
    made = database(tmp_path / "d.db")
    await made.write(lambda connection: connection.execute("CREATE TABLE n (n)").rowcount)
    other = sqlite3.connect(tmp_path / "d.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async with asyncio.timeout(20):  # fifty of them, one after the other, would take 25 seconds
        answers = await asyncio.gather(*(made.write(insert(n)) for n in range(50)), return_exceptions=True)
    other.close()

    assert {type(answer) for answer in answers} == {Unavailable}
    assert await made.write(insert(7)) == 7
    await made.close()


async def test_the_writer_outlives_a_connection_that_cannot_even_roll_back(tmp_path: Path) -> None:
    made = database(tmp_path / "d.db")
    await made.write(lambda connection: connection.execute("CREATE TABLE n (n)").rowcount)

    def break_it(connection: sqlite3.Connection) -> None:
        insert(1)(connection)
        connection.close()
        raise OSError("the disk is gone")

    async with asyncio.timeout(5):
        with pytest.raises(OSError, match="the disk is gone"):
            await made.write(break_it)
        await made.write(insert(2))
        rows = await made.read(lambda connection: connection.execute("SELECT n FROM n").fetchall())

    assert rows == [(2,)]
    await made.close()


def test_the_writer_outlives_a_loop_that_was_closed_before_its_answer_came(tmp_path: Path) -> None:
    made = database(tmp_path / "d.db")
    may_end = threading.Event()

    def slow(connection: sqlite3.Connection) -> int:
        may_end.wait(5)
        return connection.execute("CREATE TABLE n (n)").rowcount

    async def ask_and_leave() -> None:
        asking = asyncio.ensure_future(made.write(slow))
        await asyncio.sleep(0)
        asking.cancel()

    async def ask_again() -> int:
        async with asyncio.timeout(5):
            answer = await made.write(insert(3))
        await made.close()
        return answer

    asyncio.run(ask_and_leave())
    may_end.set()

    assert asyncio.run(ask_again()) == 3


async def test_the_write_ahead_log_stays_short_although_somebody_always_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.stores.sqlite.database.LONGEST_LOG", 1_000_000)
    monkeypatch.setattr("drumline.stores.sqlite.database.SHORTEN_EVERY", 0.0)
    made = database(tmp_path / "d.db")
    await made.write(lambda connection: connection.execute("CREATE TABLE n (n)").rowcount)
    is_over = asyncio.Event()

    def look(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM n").fetchall()
        counting = (
            "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 30000) SELECT max(i) FROM c"
        )
        connection.execute(counting).fetchall()

    async def keep_looking() -> None:
        while not is_over.is_set():
            await made.read(look)

    looking = [asyncio.create_task(keep_looking()) for _ in range(3)]
    longest = 0
    for _ in range(200):
        await made.write(lambda connection: connection.execute("INSERT INTO n VALUES (zeroblob(50000))").rowcount)
        longest = max(longest, (tmp_path / "d.db-wal").stat().st_size)
    is_over.set()
    await asyncio.gather(*looking)
    await made.close()

    assert longest < 3_000_000, "ten megabytes were written"


async def test_a_migration_that_comes_late_is_applied_though_a_newer_one_was(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    await (await SqliteStore.open(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE progress")
        connection.execute("DELETE FROM migration WHERE number = 10")
    connection.close()

    await (await SqliteStore.open(path)).close()

    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM progress").fetchone() == (0,)
    connection.close()
