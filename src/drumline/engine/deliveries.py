"""Looking at deliveries, and sending one again."""

from msgspec import Struct

from drumline.core.delivery import Delivery, DeliveryId
from drumline.core.errors import Invalid, NotFound
from drumline.core.ids import parse_task_id
from drumline.core.limits import Limits
from drumline.ports.notifications import Deliveries, DeliveryFilter


class DeliveryPage(Struct, frozen=True):
    """A stretch of the list, and the cursor that continues it."""

    items: tuple[Delivery, ...]
    next_cursor: str | None


class DeliveryService:
    """What people ask and do about deliveries. A `tenant` of None means every tenant's."""

    def __init__(self, store: Deliveries, *, limits: Limits) -> None:
        self._store = store
        self._limits = limits

    async def list(self, which: DeliveryFilter, *, limit: int = 100, cursor: str | None = None) -> DeliveryPage:
        """Return a page of deliveries, newest first."""
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")
        before = None if cursor is None else DeliveryId(parse_task_id(cursor, field="cursor"))
        found = await self._store.deliveries(which, limit=limit + 1, before=before)
        return DeliveryPage(tuple(found[:limit]), found[limit - 1].id if len(found) > limit else None)

    async def get(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery:
        """Return a delivery with what it sends, or raise `NotFound`."""
        return _found(await self._store.delivery(id, tenant=tenant), id)

    async def resend(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery:
        """Let a delivery be tried again now, with the same words under the same id, or raise `NotFound`."""
        return _found(await self._store.resend(id, tenant=tenant), id)


def _found(delivery: Delivery | None, id: DeliveryId) -> Delivery:
    if delivery is None:
        raise NotFound(f"there is no delivery {id}", field="id")
    return delivery
