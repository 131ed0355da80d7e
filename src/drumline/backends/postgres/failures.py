"""The driver's and the network's errors, translated once into words of the house."""

from typing import Final
from urllib.parse import urlsplit

import asyncpg

from drumline.core.errors import DrumlineError, Unavailable

REFUSED: Final = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError)
"""The server is there, but not for this user or with this database."""

LOST: Final = (
    *REFUSED,
    OSError,  # the network, TimeoutError included
    asyncpg.PostgresConnectionError,  # cut while we were talking
    asyncpg.InterfaceError,  # cut before we were
    asyncpg.InternalClientError,  # the answer was cut in half
    asyncpg.OperatorInterventionError,  # shut down, starting up, crashed, or the statement ran out of time
    asyncpg.InsufficientResourcesError,  # too many connections, no memory, no disk
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,  # a failover left us on a replica
)
"""What says nothing about the statement, only that the database cannot be had now."""


class RowVanished(Exception):
    """Something that a statement has just met was deleted by others before the next could look at it."""


CLASHED: Final = (
    RowVanished,  # raised within the transaction, which is therefore taken back
    asyncpg.TransactionRollbackError,  # a deadlock
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidCachedStatementError,  # a migration changed a table under a statement that was prepared before
    asyncpg.OutdatedSchemaCacheError,
)
"""What PostgreSQL has certainly taken back: it may be tried again."""

UNMIGRATED: Final = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.InvalidSchemaNameError)


def translated(error: Exception) -> DrumlineError | None:
    """Return what an error means here; None if it is no failure of the database but a mistake in this program."""
    if isinstance(error, asyncpg.DataError):
        return None
    if isinstance(error, REFUSED):
        return Unavailable(f"PostgreSQL refused the connection: {_reason(error)}")
    if isinstance(error, LOST):
        return Unavailable(f"PostgreSQL cannot be reached: {_reason(error)}")
    if isinstance(error, CLASHED):
        return Unavailable(f"PostgreSQL took the transaction back: {_reason(error)}")
    if isinstance(error, UNMIGRATED):
        return Unavailable(f"the database has not the schema of this version ({_reason(error)}): run drumline migrate")
    return None


def address_of(url: str) -> str:
    """Return where a URL leads, without whom it logs in: for those who set it up, and may have mistyped it."""
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] + parts.path


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
