"""The store on the caller's connection to SQLite: every act is part of the caller's transaction.

The store is the one of the servers, but that nothing is committed here. It is made anew for each use: what a store
remembers (numbers of lanes, say) the caller may roll back.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from drumline.core.clock import Clock, SystemClock
from drumline.stores.driver import Line, Rows, Work
from drumline.stores.sqlite.database import Act, Database, Statements, finish, run_statement
from drumline.stores.sqlite.statements import STATEMENTS
from drumline.stores.sqlite.store import SqliteStore
from drumline.transactions.drivers import SqliteDriver

T = TypeVar("T")


class CallersDatabase:
    """The database of the SQLite store, whose every act is in the caller's transaction."""

    def __init__(self, driver: SqliteDriver) -> None:
        self._driver = driver

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Do nothing: the store is forgotten before its transaction ends."""

    async def write(self, act: Act[T]) -> T:
        """Run an act."""
        return await self._driver.run(act)

    read = write

    async def fetch(
        self, _line: Line, name: str, /, *, repeat: bool = False, within: str | None = None, **values: Any
    ) -> Rows:
        """Run one statement of a part of the store."""
        del repeat, within
        return await self._driver.run(partial(run_statement, STATEMENTS[name], values))

    async def transact(self, _line: Line, work: Work[T], *, repeat: bool = False, within: str | None = None) -> T:
        """Run what a part of the store does in one transaction."""
        del repeat, within
        (answer,) = await self._driver.run(lambda connection: (finish(work(Statements(connection))),))
        return answer


def sqlite_store(driver: SqliteDriver, clock: Clock | None = None) -> SqliteStore:
    """Return the store of the file that a connection has open."""
    return SqliteStore(cast("Database", CallersDatabase(driver)), clock or SystemClock())
