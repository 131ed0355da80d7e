"""What the stores make of the rows of subscriptions and deliveries, which have the same columns in both."""

from collections.abc import Iterable, Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.delivery import ClaimedDelivery, Delivery, DeliveryId, DeliveryState, NewDelivery
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.signing import Secrets, SigningSecret
from drumline.core.state import State
from drumline.core.subscription import EventFilter, NewSubscription, Subscription, SubscriptionChange, SubscriptionId
from drumline.core.target import Target, TargetKind
from drumline.ports.notifications import EndedTask, Interest

MOST_NARROW = 20
NAME_TAKEN = "there is a subscription of that name already"
NOT_THERE = "there is no such subscription"
DISABLED = "its subscription was disabled"
DELETED = "its subscription was deleted"


def subscription_columns(subscription: NewSubscription) -> dict[str, Any]:
    """Return a new subscription as the parameters of `create_subscription`, but for the time."""
    return {
        "id": subscription.id,
        "tenant": subscription.tenant,
        "name": subscription.name,
        "filter": encode(subscription.filter).decode(),
        "channel": int(subscription.target.channel),
        "address": subscription.target.address,
        "secrets": secrets_text(subscription.secrets),
    }


def change_columns(change: SubscriptionChange) -> dict[str, Any]:
    """Return a change as the parameters of `change_subscription`."""
    return {
        "name": change.name,
        "filter": None if change.filter is None else encode(change.filter).decode(),
        "address": change.address,
        "is_enabled": change.is_enabled,
        "reason": change.reason,
    }


def subscription_of(row: Iterable[Any]) -> Subscription:
    """Return a row of `subscriptions`."""
    id_, tenant, name, wanted, channel, address, created_at, is_enabled, reason = row
    return Subscription(
        id=SubscriptionId(str(id_)),
        tenant=tenant,
        name=name,
        filter=decode(wanted, EventFilter),
        target=Target(TargetKind(channel), address),
        created_at=Instant(created_at),
        is_enabled=bool(is_enabled),
        disabled_reason=reason,
    )


def secrets_text(secrets: Secrets) -> str:
    """Return secrets as they are stored."""
    return encode(secrets).decode()


def secrets_of(text: str | None) -> Secrets:
    """Return stored secrets."""
    return () if text is None else decode(text, tuple[SigningSecret, ...])


def broad_and_narrow(interests: Sequence[Interest]) -> tuple[frozenset[State], list[Interest]]:
    """Return the ends that are wanted of every task, and the interests that add others in certain lanes.

    Too many of those are not worth asking for one by one.
    """
    broad = frozenset(
        state for interest in interests if interest.task is None and interest.queue is None for state in interest.states
    )
    narrow = [interest for interest in interests if interest.states - broad]
    if len(narrow) > MOST_NARROW:
        return broad.union(*(interest.states for interest in narrow)), []
    return broad, narrow


def delivery_columns(deliveries: Sequence[NewDelivery]) -> dict[str, list[Any]]:
    """Return new deliveries as columns."""
    return {
        "ids": [each.id for each in deliveries],
        "subscriptions": [each.subscription for each in deliveries],
        "channels": [int(each.target.channel) for each in deliveries],
        "tenants": [each.tenant for each in deliveries],
        "event_ids": [each.event_id for each in deliveries],
        "event_types": [each.event_type for each in deliveries],
        "subjects": [each.subject for each in deliveries],
        "addresses": [each.target.address for each in deliveries],
        "events": [each.event.decode() for each in deliveries],
    }


def claimed_of(row: Iterable[Any]) -> ClaimedDelivery:
    """Return a row of `claim_webhooks` or `claim_mail`."""
    (
        id_, tenant, event_id, event_type, channel, address, event, attempt, now, subscription, secrets,
    ) = row  # fmt: skip
    return ClaimedDelivery(
        id=DeliveryId(str(id_)),
        tenant=tenant,
        event_id=event_id,
        event_type=event_type,
        target=Target(TargetKind(channel), address),
        event=event.encode(),
        attempt=attempt,
        now=Instant(now),
        subscription=None if subscription is None else SubscriptionId(str(subscription)),
        secrets=secrets_of(secrets),
    )


def delivery_of(row: Iterable[Any]) -> Delivery:
    """Return a row of `deliveries`."""
    (
        id_, tenant, subscription, event_id, event_type, subject, channel, address, state, attempts, next_at, status,
        response, error, latency_ms, created_at, finished_at, event,
    ) = row  # fmt: skip
    return Delivery(
        id=DeliveryId(str(id_)),
        tenant=tenant,
        subscription=None if subscription is None else SubscriptionId(str(subscription)),
        event_id=event_id,
        event_type=event_type,
        subject=subject,
        target=Target(TargetKind(channel), address),
        state=DeliveryState(state),
        attempts=attempts,
        next_at=next_at,
        status=status,
        response=response,
        error=error,
        latency_ms=latency_ms,
        created_at=Instant(created_at),
        finished_at=finished_at,
        event=None if event is None else event.encode(),
    )


def ended_task(key: str, task: str, name: str, error: str | None, log: str | None) -> EndedTask:
    """Return a task of a job that has ended."""
    return EndedTask(
        key=key, id=TaskId(task), name=name, error=None if error is None else decode(error, ErrorInfo), log=log
    )


def mail_turn(paced_to: int, now: int, *, burst: int, pace_ms: int) -> tuple[int, int]:
    """Return when the next mail to a mailbox may be sent, and its pace if it is sent now.

    Mails are counted as if they had gone at an even pace; nobody gets more than `burst` ahead of it.
    """
    return paced_to - (burst - 1) * pace_ms, max(paced_to, now) + pace_ms
