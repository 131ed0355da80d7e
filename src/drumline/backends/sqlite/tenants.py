"""Tenants, and how much each may have."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from drumline.backends.sqlite.access import Access, batch_of
from drumline.backends.sqlite.statements import SQL
from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.tenant import Quotas, Tenant, is_default


class Tenants(Access):
    """`ports.access.Tenants` on SQLite."""

    async def add_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Keep a new tenant; raises `Conflict` if there is one of that name."""
        now = self._now()
        if is_default(name) or not await self._change("add_tenant", _row(name, quotas) | {"now": now}):
            raise Conflict(f"there is a tenant {name} already", field="name")
        return Tenant(name=name, created_at=now, quotas=quotas)

    async def find_tenants(self, names: Sequence[str]) -> list[Tenant | None]:
        """Return tenants by name."""
        given = {"names": batch_of(names)}
        rows = await self._database.read(lambda connection: connection.execute(SQL["find_tenants"], given).fetchall())
        found = {tenant.name: tenant for tenant in map(_tenant, rows)}
        return [found.get(name) for name in names]

    async def list_tenants(self, *, limit: int, after: str | None = None) -> list[Tenant]:
        """Return tenants by name, starting above `after`."""
        span = {"limit": limit, "after": after}
        rows = await self._database.read(lambda connection: connection.execute(SQL["list_tenants"], span).fetchall())
        return [_tenant(row) for row in rows]

    async def change_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Give a tenant other quotas; raises `NotFound`."""

        def act(connection: sqlite3.Connection) -> Tenant:
            if is_default(name):  # it may have no row yet
                connection.execute(SQL["add_tenant"], _row(name, quotas) | {"now": self._now()})
            connection.execute(SQL["change_tenant"], _row(name, quotas))
            row = connection.execute(SQL["find_tenants"], {"names": batch_of([name])}).fetchone()
            if row is None:
                raise NotFound(f"there is no tenant {name}", field="name")
            return _tenant(row)

        return await self._database.write(act)

    async def weights(self) -> dict[str, int]:
        """Return the weight of each tenant that has one."""
        return dict(await self._database.read(lambda connection: connection.execute(SQL["weights"]).fetchall()))

    async def count_queued(self, tenant: str, *, most: int) -> int:
        """Return how many tasks of a tenant wait to be run, counting no further than `most`."""
        span = {"tenant": tenant, "most": most}
        (count,) = await self._database.read(
            lambda connection: connection.execute(SQL["count_queued"], span).fetchone()
        )
        return int(count)

    async def count_schedules(self, tenant: str) -> int:
        """Return how many schedules a tenant has."""
        whose = {"tenant": tenant}
        (count,) = await self._database.read(
            lambda connection: connection.execute(SQL["count_schedules"], whose).fetchone()
        )
        return int(count)


def _row(name: str, quotas: Quotas) -> dict[str, Any]:
    return {"name": name, **msgspec.structs.asdict(quotas)}


def _tenant(row: tuple[Any, ...]) -> Tenant:
    name, created_at, queued, payload_bytes, schedules, weight = row
    quotas = Quotas(queued=queued, payload_bytes=payload_bytes, schedules=schedules, weight=weight)
    return Tenant(name=name, created_at=Instant(created_at), quotas=quotas)
