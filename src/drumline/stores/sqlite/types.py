"""Types of tasks, as workers publish them."""

import sqlite3
from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.core.session import SessionSpec
from drumline.core.task_type import MOST_STORED, StoredType
from drumline.ports.task_types import TypeKey
from drumline.stores.sqlite.access import Access, batch_of
from drumline.stores.sqlite.statements import SQL
from drumline.stores.type_rows import owner_of, type_rows, types_for


class TaskTypes(Access):
    """`ports.task_types.TaskTypes` on SQLite."""

    async def find_types(self, wanted: Sequence[TypeKey]) -> list[StoredType | None]:
        """Return types as a tenant sees them."""
        now = self._now()
        return await self._database.read(lambda connection: types_in(connection, wanted, now))


def types_in(connection: sqlite3.Connection, wanted: Sequence[TypeKey], now: Instant) -> list[StoredType | None]:
    """Return types, inside a transaction."""
    rows = connection.execute(SQL["find_types"], {"wanted": batch_of(wanted), "now": now}).fetchall()
    return types_for(wanted, rows)


def publish_types(connection: sqlite3.Connection, spec: SessionSpec, now: Instant) -> None:
    """Keep what a worker declares about its types."""
    rows = type_rows(spec)
    if not rows:
        return
    tenant = owner_of(spec)
    connection.execute(SQL["publish_types"], {"tenant": tenant, "batch": batch_of(rows), "now": now})
    connection.execute(SQL["trim_types"], {"tenant": tenant, "most": MOST_STORED})
