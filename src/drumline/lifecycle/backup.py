"""Copies of the store: making one, and what has to be done once one was put in its place."""

import asyncio
import os
import shutil
from pathlib import Path

from msgspec import Struct

from drumline.core.clock import SystemClock
from drumline.core.errors import Conflict, Invalid, NotFound
from drumline.core.session import BEAT_EVERY, SESSION_TTL, SessionView
from drumline.lifecycle.data_folder import is_served
from drumline.lifecycle.processes import opened
from drumline.ports.store import Sessions
from drumline.settings import Settings
from drumline.settings.fields import BLOB_FOLDER
from drumline.settings.secret_key import box_of
from drumline.shards.move import Mover
from drumline.shards.service import open_urls
from drumline.stores.sqlite.backing_up import Backup, back_up

__all__ = ["Backup", "Restored", "back_up", "back_up_blobs", "check_idle", "finish_restore", "sqlite_file"]

MOST_NAMED = 5


class Restored(Struct, frozen=True):
    """What was done after a copy was put in place."""

    log: str
    """The new name of the log of events."""
    forgotten: int
    """Keys that were deleted in Redis."""
    workers: int
    """Workers whose tasks the scheduler will give to others, unless they are heard of."""


def sqlite_file(settings: Settings) -> str:
    """Return the file to copy, or raise `Invalid` saying how a server's database is copied."""
    if settings.sqlite_path is None:
        raise Invalid(
            "the store is a PostgreSQL server: copy it with `pg_dump --format=custom --schema=drumline`, at any time",
            field="store_url",
        )
    return str(settings.sqlite_path)


def back_up_blobs(settings: Settings, target: Path) -> tuple[Path, int] | None:
    """Copy the blobs of the data folder beside a copy of the database; return the folder, and how many are in it.

    Call it after the database was copied: a blob is written before the row that refers to it. Blobs never change, so a
    hard link does where the file system has them. None if the blobs are elsewhere, or there are none.
    """
    source = settings.data / BLOB_FOLDER
    if settings.blob_url is not None or not source.is_dir():
        return None
    folder, count = target.with_name(f"{target.name}.{BLOB_FOLDER}"), 0
    for blob in sorted(path for path in source.rglob("*") if path.is_file() and not path.name.startswith(".")):
        copy = folder / blob.relative_to(source)
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not copy.exists():
            try:
                os.link(blob, copy)
            except FileNotFoundError:  # its task was pruned meanwhile
                continue
            except OSError:
                shutil.copy2(blob, copy)
        count += 1
    return (folder, count) if count else None


async def check_idle(settings: Settings) -> None:
    """Raise `Conflict` if anything is at work on the store: a server on its data folder, or a worker that beats."""
    if settings.sqlite_path is not None:
        if not settings.sqlite_path.exists():
            raise NotFound(f"there is no store at {settings.sqlite_path}", field="data")
        if is_served(settings.data):
            raise Conflict(f"a server is running on {settings.data}: stop it first", field="data")
    async with opened(settings) as wired:
        store = wired.engine.store
        await store.migrate()
        alive = await _beating(store.sessions)
    if alive:
        which = ", ".join(f"{view.spec.host}:{view.spec.pid}" for view in alive[:MOST_NAMED])
        raise Conflict(f"workers run on this store ({which}): stop everything first", field="store")


async def _beating(sessions: Sessions) -> list[SessionView]:
    """Return the workers that beat now; a copy also has those that did when it was made."""
    since = SystemClock().now() - int(2 * SESSION_TTL * 1000)
    before = {view.id: view.beat for view in await sessions.sessions() if view.beat_at > since}
    if not before:
        return []
    await asyncio.sleep(BEAT_EVERY + 1)
    return [view for view in await sessions.sessions() if view.beat > before.get(view.id, -1)]


async def finish_restore(settings: Settings) -> Restored:
    """Prepare a store that was restored from a backup; do it before any process starts on it.

    The log of events gets another name, or new events would have the ids of events that were sent already and are gone
    now. Redis forgets everything, that of every shard: it may know of a later time than the store. The map and the
    entries of the databases are brought in line, of which one may be of a later time, too.
    """
    async with opened(settings) as wired:
        store = wired.engine.store
        await store.migrate()
        name = await store.events.rename_log()
        if not wired.shards.is_lone:
            await Mover(wired.shards).align()
        workers = len(await store.sessions.sessions())
        rows = await store.shards.shards()
    box = await asyncio.to_thread(box_of, settings)
    forgotten = 0
    for url in dict.fromkeys((settings.queue_url, *(open_urls(box, row)[1] for row in rows))):
        if url is not None:
            from drumline.redis.forgetting import forget_all  # noqa: PLC0415 - a driver that not all have

            forgotten += await forget_all(url, prefix=settings.queue_prefix)
    return Restored(name, forgotten, workers)
