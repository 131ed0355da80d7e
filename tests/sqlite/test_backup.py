"""Copies of the embedded store, made while it is used."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from drumline.core.errors import Conflict, Invalid
from drumline.core.state import State
from drumline.ports.store import TaskFilter
from drumline.stores.sqlite import SqliteStore
from drumline.stores.sqlite.backing_up import back_up
from tests.factories import claim_one, open_session, submit


async def test_a_copy_under_load_is_the_store_at_one_moment(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "drumline.db")
    before = [await submit(store, "work") for _ in range(200)]
    stop = asyncio.Event()

    async def load() -> int:
        count = 0
        while not stop.is_set():
            await asyncio.gather(*(submit(store, "work") for _ in range(20)))
            count += 20
        return count

    loading = asyncio.create_task(load())
    await asyncio.to_thread(back_up, tmp_path / "drumline.db", tmp_path / "copy.db")
    stop.set()
    later = await loading
    await store.close()

    copy = await SqliteStore.open(tmp_path / "copy.db")
    kept = {view.id for view in await copy.queries.list_tasks(TaskFilter(), limit=100_000)}
    counted = await copy.queries.queues()
    await copy.close()
    assert kept >= set(before)
    assert len(before) <= len(kept) <= len(before) + later
    assert counted[0].queued == len(kept)  # tasks, their live rows and lanes are of one moment
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0


async def test_a_writer_is_not_held_up(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "drumline.db")
    reading = sqlite3.connect(tmp_path / "drumline.db", check_same_thread=False)
    reading.execute("BEGIN")
    reading.execute("SELECT count(*) FROM task").fetchone()  # as long as a copy looks at its moment

    async with asyncio.timeout(5):
        await submit(store, "work")

    reading.close()
    await store.close()


def test_what_is_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    asyncio.run(_make(tmp_path / "drumline.db"))
    (tmp_path / "copy.db").write_text("precious")

    with pytest.raises(Conflict):
        back_up(tmp_path / "drumline.db", tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "precious"
    back_up(tmp_path / "drumline.db", tmp_path / "copy.db", replace=True)

    with pytest.raises(Invalid):
        back_up(tmp_path / "nothing.db", tmp_path / "other.db")
    assert sorted(file.name for file in tmp_path.iterdir() if "drumline" not in file.name) == ["copy.db"]


async def _make(path: Path) -> None:
    store = await SqliteStore.open(path)
    await submit(store, "work")
    await store.close()


async def test_what_ran_when_the_copy_was_made_is_reaped_and_runs_again(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "drumline.db")
    task = await submit(store, "work")
    ada = await open_session(store, "work")
    late = await claim_one(store, ada, "work")
    await asyncio.to_thread(back_up, tmp_path / "drumline.db", tmp_path / "copy.db")
    await store.close()

    copy = await SqliteStore.open(tmp_path / "copy.db")
    (reaped,) = (await copy.sessions.reap(list((await copy.sessions.beat_numbers()).items()), poison_after=3)).requeued
    bob = await open_session(copy, "work")
    again = await claim_one(copy, bob, "work")
    (view,) = await copy.queries.get([task])
    await copy.close()

    assert reaped.task == task
    assert again.lease.epoch > late.lease.epoch
    assert view is not None
    assert view.state is State.RUNNING


async def test_a_restored_log_gives_no_id_twice(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "drumline.db")
    await submit(store, "before")
    await asyncio.to_thread(back_up, tmp_path / "drumline.db", tmp_path / "copy.db")
    position = (await store.events.log_span()).last
    await submit(store, "lost")
    (gone,) = (await store.events.read_events(after=position, limit=10)).events
    await store.close()

    copy = await SqliteStore.open(tmp_path / "copy.db")
    await copy.events.rename_log()
    await submit(copy, "new")
    (new,) = (await copy.events.read_events(after=position, limit=10)).events
    await copy.close()

    assert new.id != gone.id
