"""The store on the caller's connection to PostgreSQL: every statement is part of the caller's transaction.

The store is the one of the servers, but that nothing is committed here. It is made anew for each use: what a store
remembers (numbers of lanes, say) the caller may roll back.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar, cast

from drumline.core.errors import Moved
from drumline.stores.driver import Line, Rows
from drumline.stores.postgres.connection import Connection
from drumline.stores.postgres.database import Database, Transaction
from drumline.stores.postgres.statements import SQL
from drumline.stores.postgres.store import PostgresStore
from drumline.transactions.drivers import PostgresConnection

T = TypeVar("T")

SLOT_CLOSED: Final = "DL001"
"""The SQLSTATE of the fence of shards."""
NO_PRIVILEGE: Final = "42501"
HINT: Final = "The database user of the caller needs rights in Drumline's schema: see docs/how-to/transactions.md."


class CallersTransaction(Transaction):
    """Statements on the caller's connection."""

    def __init__(self, connection: PostgresConnection) -> None:
        super().__init__(cast("Connection", connection))
        self._callers = connection

    async def fetch(self, name: str, /, **values: Any) -> Rows:
        """Run a statement."""
        statement = SQL[name]
        with _translated():
            return await self._callers.fetch(statement.text, statement.arguments(values))


class CallersDatabase:
    """`stores.driver.Database` whose every transaction is the caller's."""

    def __init__(self, connection: PostgresConnection) -> None:
        self.transaction = CallersTransaction(connection)

    async def fetch(
        self, _line: Line, name: str, /, *, repeat: bool = False, within: str | None = None, **values: Any
    ) -> Rows:
        """Run one statement; it is not repeated, and has the caller's role."""
        del repeat, within
        return await self.transaction.fetch(name, **values)

    async def transact(
        self,
        _line: Line,
        work: Callable[[Transaction], Awaitable[T]],
        *,
        repeat: bool = False,
        within: str | None = None,
    ) -> T:
        """Run work in the caller's transaction."""
        del repeat, within
        return await work(self.transaction)


def postgres_store(connection: PostgresConnection) -> PostgresStore:
    """Return the store of the database that a connection leads to."""
    return PostgresStore(cast("Database", CallersDatabase(connection)), None)


@contextmanager
def _translated() -> Iterator[None]:
    """Let the driver's errors through, which the caller knows how to treat; the fence's has a meaning of its own."""
    try:
        yield
    except Exception as error:
        match getattr(error, "sqlstate", None):
            case str(state) if state == SLOT_CLOSED:
                raise Moved("this database takes no new work now: roll back, and submit again") from error
            case str(state) if state == NO_PRIVILEGE:
                error.add_note(HINT)
        raise
