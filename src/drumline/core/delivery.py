"""A delivery: one event on its way to one target, and what became of it."""

from enum import IntEnum
from typing import NewType

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.signing import Secrets
from drumline.core.subscription import TEST_EVENT, SubscriptionId
from drumline.core.target import Target

DeliveryId = NewType("DeliveryId", str)


class DeliveryState(IntEnum):
    """The state of a delivery. The numbers are stored: never reuse one."""

    PENDING = 0
    DELIVERED = 1
    FAILED = 2

    @property
    def word(self) -> str:
        """The state as people read it."""
        return self.name.lower()


class NewDelivery(Struct, frozen=True, kw_only=True):
    """Something to be delivered, as the notifier finds it."""

    id: DeliveryId
    tenant: str
    event_id: str
    event_type: str
    subject: str
    """The id of the task, job … that the event is about."""
    target: Target
    event: bytes
    """The CloudEvent, as it is sent: every try sends the same bytes."""
    subscription: SubscriptionId | None = None
    """Whose it is; None for a target that a task or job names itself."""


class ClaimedDelivery(Struct, frozen=True, kw_only=True):
    """A delivery that one notifier may try, until its lease expires."""

    id: DeliveryId
    tenant: str
    event_id: str
    event_type: str
    target: Target
    event: bytes
    attempt: int
    """The number of this try, from 1."""
    now: Instant
    """The store's time of the claim."""
    subscription: SubscriptionId | None = None
    secrets: Secrets = ()

    @property
    def is_test(self) -> bool:
        """Whether it is a test of a subscription, which is tried only once."""
        return self.event_type == TEST_EVENT


class DeliveryReport(Struct, frozen=True, kw_only=True):
    """The result of a try. A delivery that stays pending is due again `delay_ms` from now."""

    id: DeliveryId
    state: DeliveryState
    delay_ms: int = 0
    status: int | None = None
    """What the other side answered: the status of HTTP or SMTP."""
    response: str | None = None
    """The beginning of what it said."""
    error: str | None = None
    """Why it was not accepted."""
    latency_ms: int | None = None
    disables: str | None = None
    """Why the subscription has to end with it, if it has."""


class Delivery(Struct, frozen=True, kw_only=True):
    """A delivery in its current state, as the API shows it."""

    id: DeliveryId
    tenant: str
    subscription: SubscriptionId | None
    event_id: str
    event_type: str
    subject: str
    target: Target
    state: DeliveryState
    attempts: int
    next_at: Instant | None
    """When it is tried next, or given up as lost by the notifier that is trying it."""
    status: int | None
    response: str | None
    error: str | None
    latency_ms: int | None
    created_at: Instant
    finished_at: Instant | None
    event: bytes | None = None
    """What is sent; not read for lists."""
