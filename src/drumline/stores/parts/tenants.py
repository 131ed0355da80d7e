"""Tenants, and how much each may have."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.tenant import Quotas, Tenant, is_default
from drumline.stores.driver import Line, Part, Transaction


class Tenants(Part):
    """`ports.access.Tenants`."""

    async def add_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Keep a new tenant; raises `Conflict` if there is one of that name."""
        row = {"name": name, **msgspec.structs.asdict(quotas)}
        rows = (
            [] if is_default(name) else await self._database.fetch(Line.REQUEST, "add_tenant", **row, now=self._now())
        )
        if not rows:
            raise Conflict(f"there is a tenant {name} already", field="name")
        return _tenant(rows[0])

    async def find_tenants(self, names: Sequence[str]) -> list[Tenant | None]:
        """Return tenants by name."""
        rows = await self._database.fetch(Line.REQUEST, "find_tenants", repeat=True, names=list(names))
        found = {tenant.name: tenant for tenant in map(_tenant, rows)}
        return [found.get(name) for name in names]

    async def list_tenants(self, *, limit: int, after: str | None = None) -> list[Tenant]:
        """Return tenants by name, starting above `after`."""
        rows = await self._database.fetch(Line.BROAD, "list_tenants", repeat=True, limit=limit, after=after)
        return [_tenant(row) for row in rows]

    async def change_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Give a tenant other quotas; raises `NotFound`."""
        row = {"name": name, **msgspec.structs.asdict(quotas)}

        async def act(transaction: Transaction) -> Tenant:
            if is_default(name):  # it may have no row yet
                await transaction.fetch("add_tenant", **row, now=self._now())
            rows = await transaction.fetch("change_tenant", **row)
            if not rows:
                raise NotFound(f"there is no tenant {name}", field="name")
            return _tenant(rows[0])

        return await self._database.transact(Line.REQUEST, act, repeat=True)

    async def weights(self) -> dict[str, int]:
        """Return the weight of each tenant that has one."""
        return dict(tuple(row) for row in await self._database.fetch(Line.REQUEST, "weights", repeat=True))

    async def count_queued(self, tenant: str, *, most: int) -> int:
        """Return how many tasks of a tenant wait to be run, counting no further than `most`."""
        ((count,),) = await self._database.fetch(Line.BROAD, "count_queued", repeat=True, tenant=tenant, most=most)
        return int(count)

    async def count_schedules(self, tenant: str) -> int:
        """Return how many schedules a tenant has."""
        ((count,),) = await self._database.fetch(Line.BROAD, "count_schedules", repeat=True, tenant=tenant)
        return int(count)


def _tenant(row: Iterable[Any]) -> Tenant:
    name, created_at, queued, payload_bytes, schedules, weight = row
    quotas = Quotas(queued=queued, payload_bytes=payload_bytes, schedules=schedules, weight=weight)
    return Tenant(name=name, created_at=Instant(created_at), quotas=quotas)
