"""Notifications that PostgreSQL delivers when the caller commits: tasks start as fast as those of a server."""

from collections.abc import Sequence

from drumline.ports.hint import Hint
from drumline.transactions.drivers import Aiosqlite, Sqlite
from drumline.transactions.opening import Opened


async def notify(opened: Opened, hints: Sequence[Hint]) -> None:
    """Tell processes of Drumline, once the transaction commits, of tasks that may start."""
    if not hints or isinstance(opened.driver, Sqlite | Aiosqlite):
        return  # a file has nobody to tell: workers look once a second
    from drumline.stores.postgres.notify import notify_stored  # noqa: PLC0415 - needs asyncpg

    await notify_stored(opened.database, hints)
