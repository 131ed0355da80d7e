"""Recording the end of an attempt in a transaction of the caller, by the statements of the servers.

The fence is the lease, as for a report. Unlike a report, a settlement that was recorded before is refused: the work of
this transaction would be done a second time. The report that the worker sends afterwards is such a repeated one, and
gets the first answer again.
"""

from typing import Any, Final

from msgspec import Raw

from drumline.core.errors import Fenced, Invalid
from drumline.core.lease import Lease
from drumline.core.state import Act
from drumline.ports.store import Settlement, Store
from drumline.sdk.transaction import Transaction
from drumline.stores.sqlite.database import finish
from drumline.stores.sqlite.store import SqliteStore
from drumline.transactions.notifying import notify
from drumline.transactions.opening import open_transaction

NOT_CURRENT: Final = "the attempt is not the task's current one, or was settled before: roll the transaction back"
NO_STORE: Final = "leads to a database without Drumline's tables: an attempt is settled in the database of its store"


def settle(tx: Any, lease: Lease, result: bytes) -> None:
    """Complete a task through a blocking driver."""
    finish(_settle(tx, lease, result, is_blocking=True))


async def asettle(tx: Any, lease: Lease, result: bytes) -> None:
    """Complete a task through any driver."""
    await _settle(tx, lease, result, is_blocking=False)


async def _settle(tx: Any, lease: Lease, result: bytes, *, is_blocking: bool) -> None:
    connection = tx.connection if isinstance(tx, Transaction) else tx
    opened = await open_transaction(connection, is_blocking=is_blocking)
    if not opened.state.is_store:
        raise Invalid(NO_STORE, field="tx")
    store = opened.make_store()
    if not await _hold(store, lease):
        raise Fenced(NOT_CURRENT)
    (answer,) = await store.settle([Settlement(lease=lease, act=Act.COMPLETE, result=Raw(result))])
    if isinstance(answer, Fenced):
        raise answer
    await notify(opened, answer.effects.released)


async def _hold(store: Store, lease: Lease) -> bool:
    """Tell whether a lease is current, and keep it so until the transaction ends."""
    if isinstance(store, SqliteStore):  # nobody else writes meanwhile
        (state,) = await store.lease_states([lease])
        return state is not None
    from drumline.stores.postgres.store import PostgresStore  # noqa: PLC0415 - needs asyncpg

    return isinstance(store, PostgresStore) and await store.lock_lease(lease)
