import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from drumline.backends.sqlite import SqliteStore
from drumline.backends.sqlite.database import Database
from drumline.core.errors import Unavailable
from tests.factories import submit


def database(path: Path | None) -> Database:
    return Database(path, on_rollback=lambda: None)


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

    assert None not in await one.get(tasks)
    assert None not in await two.get(tasks)
    await one.close()
    await two.close()
