"""The store of one shard as its engine sees it: its own tasks, and what the directory keeps for all."""

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from drumline.core.delivery import DeliveryReport
from drumline.core.errors import NotFound
from drumline.core.subscription import SubscriptionChange
from drumline.ports.notifications import Deliveries, Subscriptions
from drumline.ports.store import Store

OF_DIRECTORY = (
    "keys",
    "tenants",
    "audit",
    "secrets",
    "sign_ins",
    "config",
    "triages",
    "saved_views",
    "alerts",
    "slos",
    "task_types",
    "shards",
)
"""Aggregates of which only the directory's is right."""


class ShardDeliveries:
    """A shard's own deliveries: when a receiver ends its subscription, that is the directory's to know."""

    def __init__(self, own: Deliveries, directory: Subscriptions) -> None:
        self._own = own
        self._directory = directory

    def __getattr__(self, name: str) -> object:
        """Return everything else as the shard's own deliveries have it."""
        return getattr(self._own, name)

    async def record_deliveries(self, reports: Sequence[DeliveryReport], *, holder: int) -> int:
        """Write what became of tries; subscriptions that a report disables are disabled in the directory first."""
        for report in reports:
            if report.disables is None:
                continue
            delivery = await self._own.delivery(report.id)
            if delivery is not None and delivery.subscription is not None:
                change = SubscriptionChange(is_enabled=False, reason=report.disables)
                with suppress(NotFound):  # it was deleted meanwhile
                    await self._directory.change_subscription(delivery.subscription, change)
        return await self._own.record_deliveries(reports, holder=holder)


class ShardView:
    """A shard's own store, with some aggregates of the directory in their places."""

    def __init__(self, own: Store, directory: Store) -> None:
        self._own = own
        self.deliveries = ShardDeliveries(own.deliveries, directory.subscriptions)
        for name in OF_DIRECTORY:
            setattr(self, name, getattr(directory, name))

    def __getattr__(self, name: str) -> object:
        """Return everything else as the shard's own store has it."""
        return getattr(self._own, name)


def shard_view(own: Store, directory: Store) -> Store:
    """Return the store of a shard that is not the directory."""
    return cast("Store", ShardView(own, directory))
