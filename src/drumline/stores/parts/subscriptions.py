"""Subscriptions: which changes are sent to whom."""

from typing import Any

from drumline.core.errors import Conflict, DrumlineError, NotFound
from drumline.core.signing import Secrets
from drumline.core.subscription import NewSubscription, Subscription, SubscriptionChange, SubscriptionId
from drumline.stores.driver import Line, Part, Transaction
from drumline.stores.notification_rows import (
    DELETED,
    DISABLED,
    NAME_TAKEN,
    NOT_THERE,
    change_columns,
    secrets_of,
    secrets_text,
    subscription_columns,
    subscription_of,
)


class Subscriptions(Part):
    """`ports.notifications.Subscriptions`."""

    async def create_subscription(self, subscription: NewSubscription) -> Subscription:
        """Keep a subscription; raises `Conflict` if its tenant has another one of that name."""
        await self._database.fetch(
            Line.REQUEST,
            "create_subscription",
            repeat=True,
            within=subscription.tenant,
            **subscription_columns(subscription),
            now=self._now(),
        )
        made = await self.subscription(subscription.id, tenant=subscription.tenant)
        if made is None:
            raise Conflict(NAME_TAKEN, field="name")
        return made

    async def subscriptions(self, *, tenant: str | None = None) -> list[Subscription]:
        """Return the subscriptions, oldest first."""
        rows = await self._database.fetch(
            Line.REQUEST, "subscriptions", repeat=True, within=tenant, id=None, tenant=tenant, enabled=False
        )
        return [subscription_of(row) for row in rows]

    async def subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> Subscription | None:
        """Return one subscription."""
        rows = await self._database.fetch(
            Line.REQUEST, "subscriptions", repeat=True, within=tenant, id=id, tenant=tenant, enabled=False
        )
        return subscription_of(rows[0]) if rows else None

    async def change_subscription(
        self, id: SubscriptionId, change: SubscriptionChange, *, tenant: str | None = None
    ) -> Subscription:
        """Change a subscription. What waits to be delivered for one that is disabled now fails, saying so."""

        async def work(transaction: Transaction) -> Subscription | NotFound | Conflict:
            if not await transaction.fetch("lock_subscription", id=id, tenant=tenant):
                return NotFound(NOT_THERE, field="id")
            if change.name is not None and await transaction.fetch("subscription_named", id=id, name=change.name):
                return Conflict(NAME_TAKEN, field="name")
            await transaction.fetch("change_subscription", id=id, **change_columns(change))
            if change.is_enabled is False:
                await transaction.fetch("fail_deliveries", subscriptions=[id], error=DISABLED, now=self._now())
            (row,) = await transaction.fetch("subscriptions", id=id, tenant=None, enabled=False)
            return subscription_of(row)

        answer = await self._database.transact(Line.REQUEST, work, repeat=True, within=tenant)
        if isinstance(answer, DrumlineError):
            raise answer
        return answer

    async def delete_subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> bool:
        """Forget a subscription; tell whether there was one. What waits to be delivered for it fails, saying so."""

        async def work(transaction: Transaction) -> bool:
            if not await transaction.fetch("lock_subscription", id=id, tenant=tenant):
                return False
            await transaction.fetch("delete_subscription", id=id)
            await transaction.fetch("fail_deliveries", subscriptions=[id], error=DELETED, now=self._now())
            return True

        return await self._database.transact(Line.REQUEST, work, within=tenant)

    async def secrets(self, id: SubscriptionId | None, *, tenant: str | None) -> Secrets | None:
        """Return what signs a subscription's webhooks, or with None those that a tenant's tasks name themselves."""
        if id is None:
            rows = await self._database.fetch(
                Line.REQUEST, "signing_secrets", repeat=True, within=tenant, tenant=tenant
            )
        else:
            rows = await self._database.fetch(Line.REQUEST, "secrets", repeat=True, within=tenant, id=id, tenant=tenant)
        return secrets_of(rows[0][0]) if rows else None

    async def put_secrets(
        self, id: SubscriptionId | None, secrets: Secrets, *, old: Secrets | None, tenant: str | None
    ) -> bool:
        """Replace secrets that still are the `old` ones; tell whether they were."""
        texts: dict[str, Any] = {"secrets": secrets_text(secrets), "old": None if old is None else secrets_text(old)}
        if id is None:
            found = await self._database.fetch(
                Line.REQUEST, "put_signing_secrets", within=tenant, tenant=tenant, **texts
            )
            return bool(found)
        found = await self._database.fetch(Line.REQUEST, "put_secrets", within=tenant, id=id, tenant=tenant, **texts)
        return bool(found)
