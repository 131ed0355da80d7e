"""What the directory keeps for all shards, as far as shards are asked, too."""

from collections.abc import Sequence
from typing import Final

from drumline.core.task_type import StoredType
from drumline.core.tenant import Quotas, Tenant
from drumline.ports.task_types import TypeKey
from drumline.shards.asking import Ask, Router
from drumline.shards.parts.merging import Part

COUNT_SECONDS: Final = 5.0
"""A shard that takes longer to count counts as it did the last time."""
MOST_COUNTED: Final = 10_000


class Tenants(Part):
    """`ports.access.Tenants`: the directory's; what a tenant has is counted in every shard.

    For a shard that is away its last count stands: a quota is neither lifted nor used up by an outage.
    """

    def __init__(self, router: Router) -> None:
        super().__init__(router)
        self._counts: dict[tuple[str, str], dict[str, int]] = {}

    async def add_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Keep a new tenant; raises `Conflict` if there is one of that name."""
        return await self._router.directory.tenants.add_tenant(name, quotas)

    async def find_tenants(self, names: Sequence[str]) -> list[Tenant | None]:
        """Return tenants by name."""
        return await self._router.directory.tenants.find_tenants(names)

    async def list_tenants(self, *, limit: int, after: str | None = None) -> list[Tenant]:
        """Return tenants by name, starting above `after`."""
        return await self._router.directory.tenants.list_tenants(limit=limit, after=after)

    async def change_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Give a tenant other quotas; raises `NotFound`."""
        return await self._router.directory.tenants.change_tenant(name, quotas)

    async def weights(self) -> dict[str, int]:
        """Return the weight of each tenant that has one; the others' is 1."""
        return await self._router.directory.tenants.weights()

    async def count_queued(self, tenant: str, *, most: int) -> int:
        """Return how many tasks of a tenant wait to be run, counting no further than `most`."""
        return min(most, await self._sum("queued", tenant, lambda store: store.tenants.count_queued(tenant, most=most)))

    async def count_schedules(self, tenant: str) -> int:
        """Return how many schedules a tenant has."""
        return await self._sum("schedules", tenant, lambda store: store.tenants.count_schedules(tenant))

    async def _sum(self, what: str, tenant: str, count: Ask[int]) -> int:
        counts = await self._router.reached(count, seconds=COUNT_SECONDS)
        if len(self._counts) > MOST_COUNTED:
            self._counts.clear()
        known = self._counts.setdefault((what, tenant), {})
        known |= counts
        present = {member.name for member in self._router.shards} | set(self._router.members.missing)
        return sum(number for shard, number in known.items() if shard in present)


class TaskTypes(Part):
    """`ports.task_types.TaskTypes`: the directory's. A worker has a session there too, and so publishes them there."""

    async def find_types(self, wanted: Sequence[TypeKey]) -> list[StoredType | None]:
        """Return types as a tenant sees them."""
        return await self._router.directory.task_types.find_types(wanted)
