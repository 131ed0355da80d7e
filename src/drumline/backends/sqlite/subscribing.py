"""Standing orders: who is told of what."""

import sqlite3

from drumline.backends.notification_rows import (
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
from drumline.backends.sqlite.access import Access
from drumline.backends.sqlite.statements import SQL
from drumline.core.errors import Conflict, NotFound
from drumline.core.signing import Secrets
from drumline.core.subscription import NewSubscription, Subscription, SubscriptionChange, SubscriptionId


class Subscribing(Access):
    """`ports.notifications.Subscribing` on SQLite."""

    async def create_subscription(self, subscription: NewSubscription) -> Subscription:
        """Keep a subscription; raises `Conflict` if its tenant has another one of that name."""
        await self._change("create_subscription", {**subscription_columns(subscription), "now": self._now()})
        made = await self.subscription(subscription.id)
        if made is None:
            raise Conflict(NAME_TAKEN, field="name")
        return made

    async def subscriptions(self, *, tenant: str | None = None) -> list[Subscription]:
        """Return the subscriptions, oldest first."""
        return await self._database.read(lambda connection: find_subscriptions(connection, tenant=tenant))

    async def subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> Subscription | None:
        """Return one subscription."""
        found = await self._database.read(lambda connection: find_subscriptions(connection, id=id, tenant=tenant))
        return found[0] if found else None

    async def change_subscription(
        self, id: SubscriptionId, change: SubscriptionChange, *, tenant: str | None = None
    ) -> Subscription:
        """Change a subscription. What waits to be delivered for one that is disabled now fails, saying so."""

        def work(connection: sqlite3.Connection) -> Subscription:
            if not find_subscriptions(connection, id=id, tenant=tenant):
                raise NotFound(NOT_THERE, field="id")
            wish = {"id": id, **change_columns(change)}
            if change.name is not None and connection.execute(SQL["subscription_named"], wish).fetchone():
                raise Conflict(NAME_TAKEN, field="name")
            connection.execute(SQL["change_subscription"], wish)
            if change.is_enabled is False:
                self._fail_deliveries(connection, id, DISABLED)
            (changed,) = find_subscriptions(connection, id=id)
            return changed

        return await self._database.write(work)

    async def delete_subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> bool:
        """Forget a subscription; tell whether there was one. What waits to be delivered for it fails, saying so."""

        def work(connection: sqlite3.Connection) -> bool:
            gone = connection.execute(SQL["delete_subscription"], {"id": id, "tenant": tenant}).rowcount > 0
            if gone:
                self._fail_deliveries(connection, id, DELETED)
            return gone

        return await self._database.write(work)

    async def secrets(self, id: SubscriptionId | None, *, tenant: str | None) -> Secrets | None:
        """Return what signs a subscription's webhooks, or with None those that a tenant's tasks name themselves."""
        statement = SQL["signing_secrets"] if id is None else SQL["secrets"]
        whose = {"id": id, "tenant": tenant}
        row = await self._database.read(lambda connection: connection.execute(statement, whose).fetchone())
        return None if row is None else secrets_of(row[0])

    async def put_secrets(
        self, id: SubscriptionId | None, secrets: Secrets, *, old: Secrets | None, tenant: str | None
    ) -> bool:
        """Replace secrets that still are the `old` ones; tell whether they were."""
        texts = {"secrets": secrets_text(secrets), "old": None if old is None else secrets_text(old)}
        wish = {"id": id, "tenant": tenant, **texts}
        changed = (
            await self._change("put_signing_secrets", wish) if id is None else await self._change("put_secrets", wish)
        )
        return changed > 0

    def _fail_deliveries(self, connection: sqlite3.Connection, subscription: str, error: str) -> None:
        row = {"subscription": subscription, "error": error, "now": self._now()}
        connection.execute(SQL["fail_deliveries"], row)


def find_subscriptions(
    connection: sqlite3.Connection, *, id: str | None = None, tenant: str | None = None, enabled: bool = False
) -> list[Subscription]:
    """Return subscriptions, oldest first."""
    which = {"id": id, "tenant": tenant, "enabled": enabled}
    return [subscription_of(row) for row in connection.execute(SQL["subscriptions"], which)]
