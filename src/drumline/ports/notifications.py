"""Notifications, as the store keeps them, with the general promises of `ports/store.py`.

The notifier reads the event log with a cursor of its own. Deliveries are written in the transaction that moves the
cursor: either both are there or neither, so nothing is left out and nothing is sent for having been read twice. An
event is delivered to a target once, whatever happens (one row per event and target); each try is claimed for a while,
and if a notifier dies during a try, another one repeats it.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.delivery import (
    ClaimedDelivery,
    Delivery,
    DeliveryId,
    DeliveryReport,
    DeliveryState,
    NewDelivery,
)
from drumline.core.event import Event
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.signing import Secrets
from drumline.core.state import State
from drumline.core.subscription import NewSubscription, Subscription, SubscriptionChange, SubscriptionId


class Listening(Struct, frozen=True):
    """The subscriptions that are enabled, and whether tasks name targets themselves."""

    subscriptions: tuple[Subscription, ...]
    """Those that are enabled."""
    has_targets: bool
    """Whether there is any task that names targets itself."""


class PickRange(Struct, frozen=True, kw_only=True):
    """A stretch of the log: behind one position, up to another, and at most so many rows."""

    after: int
    until: int
    limit: int


class Interest(Struct, frozen=True, kw_only=True):
    """Ends of tasks that a subscription asks for: of a tenant, and of one name or queue if that is set."""

    tenant: str
    states: frozenset[State]
    task: str | None = None
    queue: str | None = None


class Picked(Struct, frozen=True):
    """Events that may match a subscription, and how far the log was read."""

    events: tuple[Event, ...]
    position: int
    is_full: bool
    """Whether there may be more at once."""


class EndedTask(Struct, frozen=True, kw_only=True):
    """A task of a job that has ended, as a message about the job names it."""

    key: str
    id: TaskId
    name: str
    error: ErrorInfo | None = None
    log: str | None = None
    """The last lines that its last execution logged."""


class CursorMove(Struct, frozen=True, kw_only=True):
    """From where to where a holder moves a cursor."""

    consumer: str
    holder: int
    old: int
    new: int


class WebhookClaim(Struct, frozen=True, kw_only=True):
    """A notifier asks for webhooks to call: at most `limit`, of one target at most `each`, of busy ones none."""

    holder: int
    limit: int
    each: int
    lease_ms: int
    busy: tuple[str, ...] = ()


class MailClaim(Struct, frozen=True, kw_only=True):
    """A notifier asks for mail to send: all that waits for up to `mailboxes` people, of each at most `each`.

    Somebody gets `burst` mails at once and then one each `pace_ms`. What comes meanwhile waits, and goes together.
    """

    holder: int
    mailboxes: int
    each: int
    lease_ms: int
    burst: int
    pace_ms: int


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Which deliveries to list; what is None does not narrow."""

    tenant: str | None = None
    subscription: SubscriptionId | None = None
    state: DeliveryState | None = None
    subject: str | None = None
    event_type: str | None = None


class Subscriptions(Protocol):
    """Which changes are sent to whom. A `tenant` of None means every tenant's."""

    async def create_subscription(self, subscription: NewSubscription) -> Subscription:
        """Keep a subscription; raises `Conflict` if its tenant has another one of that name."""
        ...

    async def subscriptions(self, *, tenant: str | None = None) -> list[Subscription]:
        """Return the subscriptions, oldest first."""
        ...

    async def subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> Subscription | None:
        """Return one subscription."""
        ...

    async def change_subscription(
        self, id: SubscriptionId, change: SubscriptionChange, *, tenant: str | None = None
    ) -> Subscription:
        """Change a subscription. What waits to be delivered for one that is disabled now fails, saying so.

        Raises `NotFound`, and `Conflict` if its tenant has another one of that name.
        """
        ...

    async def delete_subscription(self, id: SubscriptionId, *, tenant: str | None = None) -> bool:
        """Forget a subscription; tell whether there was one. What waits to be delivered for it fails, saying so."""
        ...

    async def secrets(self, id: SubscriptionId | None, *, tenant: str | None) -> Secrets | None:
        """Return what signs a subscription's webhooks, or with None those that a tenant's tasks name themselves.

        None if there is no such subscription, or the tenant has no secret yet.
        """
        ...

    async def put_secrets(
        self, id: SubscriptionId | None, secrets: Secrets, *, old: Secrets | None, tenant: str | None
    ) -> bool:
        """Replace secrets that still are the `old` ones; tell whether they were."""
        ...


class Deliveries(Protocol):
    """What has to be sent to whom, and what became of it. A `tenant` of None means every tenant's."""

    async def listening(self) -> Listening:
        """Return the enabled subscriptions, and whether any task names targets itself."""
        ...

    async def queue_deliveries(self, deliveries: Sequence[NewDelivery], *, move: CursorMove | None = None) -> bool:
        """Keep deliveries and move the cursor, both or neither; tell whether that was done.

        It is not done if the holder has lost the cursor, or it stands elsewhere. A delivery of the same event, target
        and subscription as one that is there is left out.
        """
        ...

    async def claim_webhooks(self, claim: WebhookClaim) -> list[ClaimedDelivery]:
        """Take webhooks that are due, those waiting longest first, but no target before its turn."""
        ...

    async def claim_mail(self, claim: MailClaim) -> list[ClaimedDelivery]:
        """Take mail that is due for people whose turn it is."""
        ...

    async def record_deliveries(self, reports: Sequence[DeliveryReport], *, holder: int) -> int:
        """Write what became of tries that this holder still has; return how many those were.

        A report that disables a subscription fails what else waits to be delivered for it.
        """
        ...

    async def prune_deliveries(self, *, finished_before: Instant, limit: int) -> int:
        """Delete up to `limit` deliveries that ended before a time; return how many."""
        ...

    async def deliveries(
        self, which: DeliveryFilter, *, limit: int, before: DeliveryId | None = None
    ) -> list[Delivery]:
        """Return deliveries, newest first, starting below `before`."""
        ...

    async def delivery(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Return one delivery with what it sends."""
        ...

    async def resend(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Let a delivery be tried again, now, however it ended; its tries are counted anew."""
        ...
