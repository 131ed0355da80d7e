"""Copies of the store: making one, and what has to be done once one was put in its place."""

from msgspec import Struct

from drumline.backends.sqlite.backing_up import Backup, back_up
from drumline.core.errors import Invalid
from drumline.lifecycle.processes import opened
from drumline.settings import Settings

__all__ = ["Backup", "Restored", "back_up", "finish_restore", "sqlite_file"]


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


async def finish_restore(settings: Settings) -> Restored:
    """Do what a store needs that was set back to an earlier moment; to be done before anything is started on it.

    The log of events gets another name, or new events would have the ids of events that were sent already and are gone
    now. Redis forgets everything: it may know of a later time than the store.
    """
    async with opened(settings) as wired:
        store = wired.engine.store
        await store.migrate()
        name = await store.rename_log()
        workers = len(await store.sessions())
    forgotten = 0
    if settings.queue_url is not None:
        from drumline.backends.redis.forgetting import forget_all  # noqa: PLC0415 - a driver that not all have

        forgotten = await forget_all(settings.queue_url, prefix=settings.queue_prefix)
    return Restored(name, forgotten, workers)
