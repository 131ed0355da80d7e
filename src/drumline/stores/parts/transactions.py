"""What a transaction of a caller is asked before anything is stored in it."""

from typing import NamedTuple

from drumline.stores.driver import Database, Line


class TransactionState(NamedTuple):
    """What the database of a transaction has, and what the transaction sees."""

    is_store: bool
    has_outbox: bool
    sees_commits: bool
    """Whether each statement sees what others have committed before it."""


async def transaction_state(database: Database) -> TransactionState:
    """Return what a caller's transaction leads to."""
    ((is_store, has_outbox, sees_commits),) = await database.fetch(Line.SUBMIT, "transaction_state")
    return TransactionState(bool(is_store), bool(has_outbox), bool(sees_commits))
