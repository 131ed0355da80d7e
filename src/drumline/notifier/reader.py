"""Reading the log: what happened becomes deliveries to those who want to know.

One notifier reads at a time, the holder of the cursor; the others deliver. What it finds is written in the transaction
that moves the cursor, so it may die at any line: the next one reads on from where the last transaction ended.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import structlog

from drumline.core.codec import encode
from drumline.core.delivery import DeliveryId, NewDelivery
from drumline.core.event import Event, cloud_event
from drumline.core.ids import JobId
from drumline.core.job import JobView
from drumline.core.subscription import Subscription, states_wanted
from drumline.core.task import NotifyTarget
from drumline.notifier.secrets import SigningSecrets
from drumline.notifier.telling import Recipient, recipients
from drumline.ports.notifications import CursorMove, Notifications, Span
from drumline.ports.outbox import Outbox

CONSUMER: Final = "notifier"
HELD_SECONDS: Final = 30.0
"""How long the cursor is another's after its holder was last seen."""
PASS_SECONDS: Final = 20.0
"""Less than that: a holder that is slow must not go on reading when another has begun."""
ROWS_AT_ONCE: Final = 500
JOB_ENDS: Final = frozenset({"drumline.job.completed", "drumline.job.failed", "drumline.job.cancelled"})

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class ReadStore(Outbox, Notifications, Protocol):
    """What the reader asks of the store."""

    async def get_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[JobView | None]:
        """Return jobs as they stand; None for those that do not exist."""
        ...


class Reader:
    """Turns events into deliveries."""

    name = "notify"

    def __init__(
        self,
        store: ReadStore,
        *,
        holder: int,
        new_id: Callable[[], str],
        source: str,
        every: float = 1.0,
    ) -> None:
        self.every = every
        self._store = store
        self._holder = holder
        self._new_id = new_id
        self._source = source
        self._secrets = SigningSecrets(store)

    async def pass_once(self) -> int:
        """Read to the end of the log, and return how many deliveries were made; 0 if another notifier reads."""
        async with asyncio.timeout(PASS_SECONDS):
            position = await self._store.take_cursor(CONSUMER, holder=self._holder, seconds=HELD_SECONDS)
            return 0 if position is None else await self._read(position)

    async def leave(self) -> None:
        """Let another notifier read at once."""
        async with asyncio.timeout(PASS_SECONDS):
            await self._store.leave_cursor(CONSUMER, holder=self._holder)

    async def _read(self, position: int) -> int:
        await self._store.sequence()
        # In this order: whoever subscribed before an event that stands in the log by now is among those who listen.
        until = (await self._store.log_span()).last
        listening = await self._store.listening()
        states = states_wanted([subscription.filter for subscription in listening.subscriptions])
        made = 0
        while position < until:
            span = Span(after=position, until=until, limit=ROWS_AT_ONCE)
            picked = await self._store.pick_events(span, states=states, has_targets=listening.has_targets)
            deliveries = await self._deliveries(picked.events, listening.subscriptions)
            new = picked.position if picked.is_full else until
            move = CursorMove(consumer=CONSUMER, holder=self._holder, old=position, new=new)
            if not await self._store.queue_deliveries(deliveries, move=move):
                log.info("cursor.lost", consumer=CONSUMER)
                break
            made, position = made + len(deliveries), new
        if made:
            log.info("deliveries.queued", deliveries=made)
        return made

    async def _deliveries(self, events: Sequence[Event], subscriptions: Sequence[Subscription]) -> list[NewDelivery]:
        of_jobs = await self._targets_of_jobs(events)
        deliveries = [
            self._delivery(event, recipient)
            for event in events
            for recipient in recipients(event, subscriptions, of_jobs.get(event.subject, event.notify))
        ]
        for tenant in {each.tenant for each in deliveries if each.subscription is None}:
            await self._secrets.ensure(tenant)
        return deliveries

    def _delivery(self, event: Event, recipient: Recipient) -> NewDelivery:
        return NewDelivery(
            id=DeliveryId(self._new_id()),
            tenant=recipient.tenant,
            event_id=event.id,
            event_type=event.type,
            subject=event.subject,
            target=recipient.target,
            event=encode(cloud_event(event, source=self._source)),
            subscription=recipient.subscription,
        )

    async def _targets_of_jobs(self, events: Sequence[Event]) -> dict[str, tuple[NotifyTarget, ...]]:
        """Return whom jobs that have ended want to be told of it."""
        ended = list(dict.fromkeys(JobId(event.subject) for event in events if event.type in JOB_ENDS))
        views = await self._store.get_jobs(ended) if ended else []
        return {view.id: view.options.notify for view in views if view is not None}
