"""The driver's and the network's errors, translated once into words of the house."""

from typing import Final
from urllib.parse import urlsplit

import asyncpg

from drumline.core.errors import DrumlineError, Invalid, Unavailable
from drumline.stores.driver import RowVanished


class SlotClosed(asyncpg.PostgresError):
    """The fence: a slot is not open in this database, or not by the entry of the map that was named."""

    sqlstate = "DL001"


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


CLASHED: Final = (
    RowVanished,  # raised within the transaction, which is therefore taken back
    asyncpg.TransactionRollbackError,  # a deadlock
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidCachedStatementError,  # a migration changed a table under a statement that was prepared before
    asyncpg.OutdatedSchemaCacheError,
)
"""What PostgreSQL has certainly taken back: it may be tried again."""

UNFIT: Final = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError)
"""A text has NUL in it, which PostgreSQL keeps in none."""

UNMIGRATED: Final = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.InvalidSchemaNameError)

_MEANINGS: Final[tuple[tuple[tuple[type[Exception], ...], str], ...]] = (
    (REFUSED, "PostgreSQL refused the connection: {}"),
    (LOST, "PostgreSQL cannot be reached: {}"),
    (CLASHED, "PostgreSQL took the transaction back: {}"),
    (UNMIGRATED, "the database has not the schema of this version ({}): run drumline migrate"),
)


def translated(error: Exception) -> DrumlineError | None:
    """Return what an error means here; None if it is no failure of the database but a mistake in this program."""
    # The driver itself refuses halves of surrogate pairs, and numbers of more than 64 bits.
    if isinstance(error, UNFIT) or isinstance(error.__cause__, UnicodeEncodeError | OverflowError):
        return Invalid(f"has what the store cannot keep: {_reason(error)}")
    if isinstance(error, asyncpg.DataError):
        return None
    for kinds, meaning in _MEANINGS:
        if isinstance(error, kinds):
            return Unavailable(meaning.format(_reason(error)))
    return None


def address_of(url: str) -> str:
    """Return where a URL leads, without whom it logs in: for those who set it up, and may have mistyped it."""
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] + parts.path


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
