"""Tenants: making them, looking at them, and knowing at once whether there is one."""

from collections.abc import Sequence

from drumline.aio.caching import CachedLookup, Memory
from drumline.core.clock import Clock, Instant
from drumline.core.errors import NotFound
from drumline.core.task import DEFAULT_TENANT
from drumline.core.tenant import Quotas, Tenant, check_tenant, is_default
from drumline.ports.access import Tenants

_DEFAULT = Tenant(name=DEFAULT_TENANT, created_at=Instant(0))


class TenantService:
    """The tenants there are. The default one is always among them."""

    def __init__(self, store: Tenants, *, clock: Clock) -> None:
        self._store = store
        self._known: CachedLookup[str, Tenant] = CachedLookup(self._find, name="tenants", clock=clock)

    def recall(self, name: str) -> Memory[Tenant] | None:
        """Return a tenant as it was a moment ago, if that is known."""
        return self._known.recall(name)

    async def find(self, name: str) -> Tenant | None:
        """Return a tenant, as it was a moment ago at most; None if there is none."""
        memory = self._known.recall(name)
        return await self._known.get(name) if memory is None else memory.value

    async def add(self, name: str, quotas: Quotas) -> Tenant:
        """Make a tenant; raises `Conflict` if there is one of that name."""
        added = await self._store.add_tenant(check_tenant(name), quotas)
        self._known.forget_one(name)
        return added

    async def change(self, name: str, quotas: Quotas) -> Tenant:
        """Give a tenant other quotas; raises `NotFound`."""
        changed = await self._store.change_tenant(name, quotas)
        self._known.forget_one(name)
        return changed

    async def get(self, name: str) -> Tenant:
        """Return a tenant; raises `NotFound`."""
        (found,) = await self._find([name])
        if found is None:
            raise NotFound(f"there is no tenant {name}", field="name")
        return found

    async def list_tenants(self, *, limit: int, after: str | None = None) -> list[Tenant]:
        """Return tenants by name, starting above `after`."""
        found = await self._store.list_tenants(limit=limit, after=after)
        is_due = (after is None or after < DEFAULT_TENANT) and all(tenant.name != DEFAULT_TENANT for tenant in found)
        if is_due and (len(found) < limit or found[-1].name > DEFAULT_TENANT):
            found = sorted([*found, _DEFAULT], key=lambda tenant: tenant.name)[:limit]
        return found

    async def close(self) -> None:
        """Ask nothing more."""
        await self._known.close()

    async def _find(self, names: list[str]) -> Sequence[Tenant | None]:
        found = await self._store.find_tenants(names)
        return [tenant or (_DEFAULT if is_default(name) else None) for name, tenant in zip(names, found, strict=True)]
