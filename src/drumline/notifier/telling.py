"""Who is to be told of an event: those who subscribed to it, and those whom the task or job itself names."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from drumline.core.event import Event
from drumline.core.subscription import Subscription, SubscriptionId, is_told
from drumline.core.target import Target, target_of
from drumline.core.task import NotifyTarget


class Recipient(Struct, frozen=True):
    """A target and whose it is, with the subscription that it comes from: None if the task or job names it."""

    tenant: str
    target: Target
    subscription: SubscriptionId | None = None


def recipients(
    event: Event, subscriptions: Iterable[Subscription], named: Iterable[NotifyTarget]
) -> Iterator[Recipient]:
    """Yield everyone who is to be told of an event."""
    for subscription in subscriptions:
        if is_told(subscription, event):
            yield Recipient(subscription.tenant, subscription.target, subscription.id)
    outcome = event.type.rpartition(".")[2]
    for target in named:
        if outcome in target.on:
            yield Recipient(event.tenant, target_of(target.webhook, target.email))
