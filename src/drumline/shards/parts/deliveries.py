"""Subscriptions, of which every shard has a copy, and deliveries, which are where their event is."""

from collections.abc import Sequence

from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.delivery import ClaimedDelivery, Delivery, DeliveryId, DeliveryReport, NewDelivery
from drumline.core.signing import Secrets
from drumline.core.subscription import NewSubscription, Subscription, SubscriptionChange, SubscriptionId
from drumline.ports.notifications import CursorMove, DeliveryFilter, Listening, MailClaim, WebhookClaim
from drumline.ports.store import Store
from drumline.shards.parts.merging import Part, newest
from drumline.shards.positions import position_in


class Subscriptions(Part):
    """`ports.notifications.Subscriptions`: the directory's.

    A notifier needs them beside the events and deliveries of a shard, so each shard has a copy. It is brought in line
    by `shards.copies.DirectoryCopies`, also in a shard that could not be reached when one was changed.
    """

    async def create_subscription(self, subscription: NewSubscription) -> Subscription:
        """Keep a subscription; raises `Conflict` if its tenant has another one of that name."""
        made = await self._router.directory.subscriptions.create_subscription(subscription)
        await self._router.others(lambda store: store.subscriptions.create_subscription(subscription))
        return made

    async def subscriptions(self, *, tenant: str | None = None) -> list[Subscription]:
        """Return the subscriptions, oldest first."""
        return await self._router.directory.subscriptions.subscriptions(tenant=tenant)

    async def subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> Subscription | None:
        """Return one subscription."""
        return await self._router.directory.subscriptions.subscription(id, tenant=tenant)

    async def change_subscription(
        self, id: SubscriptionId, change: SubscriptionChange, *, tenant: str | None = None
    ) -> Subscription:
        """Change a subscription. What waits to be delivered for one that is disabled now fails, saying so."""
        changed = await self._router.directory.subscriptions.change_subscription(id, change, tenant=tenant)
        await self._router.others(lambda store: _copy_change(store, id, change))
        return changed

    async def delete_subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> bool:
        """Forget a subscription; tell whether there was one. What waits to be delivered for it fails, saying so."""
        is_deleted = await self._router.directory.subscriptions.delete_subscription(id, tenant=tenant)
        if is_deleted:
            await self._router.others(lambda store: store.subscriptions.delete_subscription(id))
        return is_deleted

    async def secrets(self, id: SubscriptionId | None, *, tenant: str | None) -> Secrets | None:
        """Return what signs a subscription's webhooks, or with None those that a tenant's tasks name themselves."""
        return await self._router.directory.subscriptions.secrets(id, tenant=tenant)

    async def put_secrets(
        self, id: SubscriptionId | None, secrets: Secrets, *, old: Secrets | None, tenant: str | None
    ) -> bool:
        """Replace secrets that still are the `old` ones; tell whether they were."""
        is_put = await self._router.directory.subscriptions.put_secrets(id, secrets, old=old, tenant=tenant)
        if is_put:
            await self._router.others(lambda store: copy_secrets(store, id, secrets, tenant=tenant))
        return is_put


async def _copy_change(store: Store, id: SubscriptionId, change: SubscriptionChange) -> None:
    if await store.subscriptions.subscription(id) is not None:
        await store.subscriptions.change_subscription(id, change)


async def copy_secrets(store: Store, id: SubscriptionId | None, secrets: Secrets, *, tenant: str | None) -> None:
    """Make the secrets of a copy those of the directory."""
    old = await store.subscriptions.secrets(id, tenant=tenant)
    if old != secrets:
        await store.subscriptions.put_secrets(id, secrets, old=old, tenant=tenant)


class Deliveries(Part):
    """`ports.notifications.Deliveries`. Notifiers deal with each shard by itself; lists show all."""

    async def listening(self) -> Listening:
        """Return the enabled subscriptions, and whether any task names targets itself."""
        found = await self._router.each(lambda store: store.deliveries.listening())
        own = await self._router.directory.deliveries.listening()
        return Listening(own.subscriptions, any(listening.has_targets for listening in found))

    async def queue_deliveries(self, deliveries: Sequence[NewDelivery], *, move: CursorMove | None = None) -> bool:
        """Keep deliveries and move the cursor, in each shard both or neither; tell whether that was done in all.

        A delivery goes where its event is, by the log that the event's id names; a test, which has none, to the
        directory.
        """
        members = self._router.shards
        spans = await self._router.all(lambda store: store.events.log_span())
        places = {span.name: place for place, span in enumerate(spans)}
        parts: list[list[NewDelivery]] = [[] for _ in members]
        for delivery in deliveries:
            parts[places.get(delivery.event_id.partition("-")[0], 0)].append(delivery)
        is_done = True
        for place, (member, part) in enumerate(zip(members, parts, strict=True)):
            own = None if move is None else _move_in(move, place)
            if part or own is not None:
                is_done &= await member.store.deliveries.queue_deliveries(part, move=own)
        return is_done

    async def claim_webhooks(self, claim: WebhookClaim) -> list[ClaimedDelivery]:
        """Take webhooks that are due, shard by shard, those waiting longest first, but no target before its turn."""
        found = await self._router.in_turn(
            claim.limit, lambda store, left: store.deliveries.claim_webhooks(replace(claim, limit=left)), count=len
        )
        return [delivery for part in found for delivery in part]

    async def claim_mail(self, claim: MailClaim) -> list[ClaimedDelivery]:
        """Take mail that is due for people whose turn it is, shard by shard."""
        found = await self._router.in_turn(
            claim.mailboxes,
            lambda store, left: store.deliveries.claim_mail(replace(claim, mailboxes=left)),
            count=lambda part: len({(each.tenant, each.target.address) for each in part}),
        )
        return [delivery for part in found for delivery in part]

    async def record_deliveries(self, reports: Sequence[DeliveryReport], *, holder: int) -> int:
        """Write what became of tries that this holder still has; return how many those were."""
        return sum(await self._router.all(lambda store: store.deliveries.record_deliveries(reports, holder=holder)))

    async def prune_deliveries(self, *, finished_before: Instant, limit: int) -> int:
        """Delete up to `limit` deliveries that ended before a time; return how many."""
        return sum(
            await self._router.in_turn(
                limit,
                lambda store, left: store.deliveries.prune_deliveries(finished_before=finished_before, limit=left),
                count=int,
            )
        )

    async def deliveries(
        self, which: DeliveryFilter, *, limit: int, before: DeliveryId | None = None
    ) -> list[Delivery]:
        """Return deliveries, newest first, starting below `before`."""
        lists = await self._router.each(lambda store: store.deliveries.deliveries(which, limit=limit, before=before))
        return newest(lists, limit=limit)

    async def delivery(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Return one delivery with what it sends."""
        return await self._router.first(lambda store: store.deliveries.delivery(id, tenant=tenant))

    async def resend(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Let a delivery be tried again, now, however it ended; its tries are counted anew."""
        return await self._router.first(lambda store: store.deliveries.resend(id, tenant=tenant))


def _move_in(move: CursorMove, place: int) -> CursorMove:
    return replace(move, old=position_in(move.old, place), new=position_in(move.new, place))
