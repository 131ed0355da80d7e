"""What a caller's transaction leads to: the store's own database, another one with an outbox, or neither."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from drumline.core.errors import Invalid
from drumline.ports.store import Store
from drumline.stores.driver import Database
from drumline.stores.parts.transactions import TransactionState, transaction_state
from drumline.transactions.drivers import Aiosqlite, Driver, Sqlite
from drumline.transactions.on_sqlite import CallersDatabase as SqliteDatabase
from drumline.transactions.on_sqlite import sqlite_store
from drumline.transactions.recognise import recognise

NEITHER: Final = (
    "leads to a database that has neither Drumline's tables nor an outbox: "
    "use the database of the store, or run `drumline outbox install URL` for this one"
)


class Opened(NamedTuple):
    """A caller's transaction, and what its database is."""

    driver: Driver
    database: Database
    make_store: Callable[[], Store]
    state: TransactionState


async def open_transaction(connection: Any, *, is_blocking: bool) -> Opened:
    """Return what a connection or session leads to, or raise `TypeError` or `Invalid`."""
    driver = await recognise(connection, is_blocking=is_blocking)
    database, make_store = _parts(driver)
    state = await transaction_state(database)
    if not state.is_store and not state.has_outbox:
        raise Invalid(NEITHER, field="tx")
    return Opened(driver, database, make_store, state)


def _parts(driver: Driver) -> tuple[Database, Callable[[], Store]]:
    if isinstance(driver, Sqlite | Aiosqlite):
        return SqliteDatabase(driver), lambda: sqlite_store(driver)
    try:
        from drumline.transactions.on_postgres import CallersDatabase, postgres_store  # noqa: PLC0415 - only if needed
    except ModuleNotFoundError as error:
        raise Invalid(
            f"needs {error.name}, whatever the driver of the connection: pip install 'drumline[postgres]'", field="tx"
        ) from error
    return CallersDatabase(driver), lambda: postgres_store(driver)
