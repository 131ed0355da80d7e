"""Types of tasks, as workers publish them."""

from collections.abc import Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.session import SessionSpec
from drumline.core.task_type import EVERYBODY, MOST_STORED, StoredType, read_type, stored_defaults, stored_schema
from drumline.ports.task_types import TypeKey
from drumline.stores.driver import Line, Part, Rows, Transaction


class TaskTypes(Part):
    """`ports.task_types.TaskTypes`."""

    async def find_types(self, wanted: Sequence[TypeKey]) -> list[StoredType | None]:
        """Return types as a tenant sees them."""
        rows = await self._database.fetch(Line.REQUEST, "find_types", repeat=True, **_keys(wanted), now=self._now())
        return _types_for(wanted, rows)


async def types_in(transaction: Transaction, wanted: Sequence[TypeKey], now: Instant | None) -> list[StoredType | None]:
    """Return types, inside a transaction."""
    return _types_for(wanted, await transaction.fetch("find_types", **_keys(wanted), now=now))


async def publish_types(transaction: Transaction, spec: SessionSpec, now: Instant | None) -> None:
    """Store what a worker declares about its types, in one order for all: so two workers cannot lock one another."""
    named = {type_.name: type_ for type_ in spec.types}
    if not named:
        return
    types = [named[name] for name in sorted(named)]
    tenant = EVERYBODY if spec.tenant is None else spec.tenant
    written = await transaction.fetch(
        "publish_types",
        tenant=tenant,
        names=[type_.name for type_ in types],
        defaults=[_text(stored_defaults(type_.defaults)) for type_ in types],
        schemas=[_text(stored_schema(type_.schema)) for type_ in types],
        now=now,
    )
    if written:
        await transaction.fetch("trim_types", tenant=tenant, most=MOST_STORED)


def _keys(wanted: Sequence[TypeKey]) -> dict[str, Any]:
    return {"tenants": [tenant for tenant, _ in wanted], "names": [name for _, name in wanted]}


def _types_for(wanted: Sequence[TypeKey], rows: Rows) -> list[StoredType | None]:
    """Return for each key what was found: its own tenant's type before everybody's."""
    found = {(tenant, name): read_type(*kept) for tenant, name, *kept in rows}
    return [found.get(key) or found.get((EVERYBODY, key[1])) for key in wanted]


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode()
