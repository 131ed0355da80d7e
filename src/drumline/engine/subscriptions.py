"""Subscriptions to events: creating, changing and testing them."""

import asyncio
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from drumline.core.accept_subscription import (
    SubscriptionPatch,
    SubscriptionRequest,
    accept_patch,
    accept_subscription,
)
from drumline.core.clock import Instant, moment_of
from drumline.core.codec import encode
from drumline.core.delivery import Delivery, DeliveryId, DeliveryState, NewDelivery
from drumline.core.duration import millis
from drumline.core.errors import Conflict, Invalid, NotFound
from drumline.core.event import DEFAULT_SOURCE, CloudEvent
from drumline.core.signing import rotated, secret_text
from drumline.core.subscription import TEST_EVENT, Subscription, SubscriptionId
from drumline.core.target import TargetKind
from drumline.core.task import DEFAULT_TENANT
from drumline.engine.signing import resealed, seal_signing, signing_purpose
from drumline.ports.sealing import Box
from drumline.ports.store import Store

KEY_BYTES: Final = 32
TEST_MESSAGE: Final = "This is a test. If you can read it, notifications reach you."
LONGEST_OVERLAP: Final = timedelta(days=90)
LOOK_EVERY: Final = 0.2
"""Seconds between looks at a delivery that a notifier has to try."""
TRIES: Final = 5
"""How often a change is tried against others who change the same."""


class CreatedSubscription(NamedTuple):
    """A new subscription, and its secret, which is shown only in this answer."""

    subscription: Subscription
    secret: str | None


class SubscriptionService:
    """What people do about subscriptions. A `tenant` of None means every tenant's."""

    def __init__(self, store: Store, box: Box, *, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id
        self.box = box
        """Seals the signing secrets."""

    async def create(self, request: SubscriptionRequest, *, tenant: str) -> CreatedSubscription:
        """Keep a subscription, or raise the reason why not."""
        new = accept_subscription(request, id=SubscriptionId(self._new_id()), tenant=tenant, new_secret=_new_secret)
        secret = new.secrets[0].text if new.secrets else None
        made = await self._store.subscriptions.create_subscription(
            replace(new, secrets=resealed(self.box, new.secrets, signing_purpose(tenant, new.id)))
            if self.box.is_ready
            else new
        )
        return CreatedSubscription(made, secret)

    async def get(self, id: SubscriptionId, *, tenant: str | None = None) -> Subscription:
        """Return a subscription, or raise `NotFound`."""
        found = await self._store.subscriptions.subscription(id, tenant=tenant)
        if found is None:
            raise NotFound(f"there is no subscription {id}", field="id")
        return found

    async def change(self, id: SubscriptionId, patch: SubscriptionPatch, *, tenant: str | None = None) -> Subscription:
        """Change a subscription, or raise the reason why not."""
        change = accept_patch(patch, await self.get(id, tenant=tenant))
        return await self._store.subscriptions.change_subscription(id, change, tenant=tenant)

    async def delete(self, id: SubscriptionId, *, tenant: str | None = None) -> None:
        """Forget a subscription, or raise `NotFound`."""
        if not await self._store.subscriptions.delete_subscription(id, tenant=tenant):
            raise NotFound(f"there is no subscription {id}", field="id")

    async def rotate(self, id: SubscriptionId | None, *, overlap: timedelta, tenant: str | None = None) -> str:
        """Return a new secret for a subscription; the old one signs beside it until the overlap is over.

        Without a subscription it is the secret of a tenant, which signs the webhooks that its tasks name themselves.
        """
        if overlap > LONGEST_OVERLAP:
            raise Invalid(f"must be at most {LONGEST_OVERLAP.days} days", field="overlap")
        whose = tenant or DEFAULT_TENANT
        if id is not None:
            subscription = await self.get(id, tenant=tenant)
            whose = subscription.tenant
            if subscription.target.channel is not TargetKind.WEBHOOK:
                raise Conflict("a subscription by mail has no secret", field="id")
        until = Instant(await self._store.queries.now() + millis(overlap))
        secret = _new_secret()
        kept = seal_signing(self.box, secret, signing_purpose(whose, id))
        for _ in range(TRIES):
            old = await self._store.subscriptions.secrets(id, tenant=tenant)
            if await self._store.subscriptions.put_secrets(
                id, rotated(old or (), kept, until=until), old=old, tenant=tenant
            ):
                return secret
        raise Conflict("another request is changing this secret too", field="id")

    async def send_test(self, id: SubscriptionId, *, tenant: str | None = None) -> Delivery:
        """Let a notifier send a test to a subscription's target, enabled or not, and return the delivery."""
        subscription = await self.get(id, tenant=tenant)
        delivery = DeliveryId(self._new_id())
        event = CloudEvent(
            id=f"test-{delivery}",
            source=DEFAULT_SOURCE,
            type=TEST_EVENT,
            time=moment_of(await self._store.queries.now()),
            subject=subscription.id,
            tenant=subscription.tenant,
            sequence="0",
            data={"name": subscription.name, "message": TEST_MESSAGE},
        )
        test = NewDelivery(
            id=delivery,
            tenant=subscription.tenant,
            event_id=event.id,
            event_type=event.type,
            subject=event.subject,
            target=subscription.target,
            event=encode(event),
            subscription=subscription.id,
        )
        await self._store.deliveries.queue_deliveries([test])
        return await self.tried(delivery, seconds=0)

    async def tried(self, id: DeliveryId, *, seconds: float) -> Delivery:
        """Return a delivery once a notifier has tried it, or in its current state after `seconds`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            found = await self._store.deliveries.delivery(id)
            if found is None:
                raise NotFound(f"there is no delivery {id}", field="id")
            is_tried = found.state is not DeliveryState.PENDING or found.latency_ms is not None
            if is_tried or loop.time() >= deadline:
                return found
            await asyncio.sleep(LOOK_EVERY)


def _new_secret() -> str:
    return secret_text(secrets.token_bytes(KEY_BYTES))
