"""Types of tasks, as workers publish them."""

from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.core.session import SessionSpec
from drumline.core.task_type import MOST_STORED, StoredType
from drumline.ports.task_types import TypeKey
from drumline.stores.driver import Line
from drumline.stores.postgres.access import Access
from drumline.stores.postgres.database import Transaction
from drumline.stores.type_rows import owner_of, type_rows, types_for


class TaskTypes(Access):
    """`ports.task_types.TaskTypes` on PostgreSQL."""

    async def find_types(self, wanted: Sequence[TypeKey]) -> list[StoredType | None]:
        """Return types as a tenant sees them."""
        tenants, names = [key[0] for key in wanted], [key[1] for key in wanted]
        rows = await self._database.fetch(
            Line.DESK, "find_types", repeat=True, tenants=tenants, names=names, now=self._now()
        )
        return types_for(wanted, rows)


async def types_in(transaction: Transaction, wanted: Sequence[TypeKey], now: Instant | None) -> list[StoredType | None]:
    """Return types, inside a transaction."""
    tenants, names = [key[0] for key in wanted], [key[1] for key in wanted]
    return types_for(wanted, await transaction.fetch("find_types", tenants=tenants, names=names, now=now))


async def publish_types(transaction: Transaction, spec: SessionSpec, now: Instant | None) -> None:
    """Keep what a worker declares about its types."""
    rows = type_rows(spec)
    if not rows:
        return
    tenant = owner_of(spec)
    names, defaults, schemas = (list(column) for column in zip(*rows, strict=True))
    await transaction.fetch("publish_types", tenant=tenant, names=names, defaults=defaults, schemas=schemas, now=now)
    await transaction.fetch("trim_types", tenant=tenant, most=MOST_STORED)
