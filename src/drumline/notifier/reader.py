"""Reads the event log and makes deliveries for subscribers, and for targets that tasks and jobs name.

One notifier reads at a time, the holder of the cursor; the others only deliver. Deliveries are written in the
transaction that moves the cursor, so if the reader dies, another one continues where the last transaction ended.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import structlog
from msgspec import Struct

from drumline.core.codec import encode
from drumline.core.delivery import DeliveryId, NewDelivery
from drumline.core.event import Event, cloud_event
from drumline.core.ids import JobId
from drumline.core.links import event_link
from drumline.core.subscription import Subscription, SubscriptionId, is_told, states_wanted
from drumline.core.target import Target, target_of
from drumline.core.task import NotifyTarget
from drumline.notifier.job_summary import describe_job_ends
from drumline.notifier.secrets import SigningSecrets
from drumline.ports.notifications import CursorMove, Interest, Listening, PickRange
from drumline.ports.outbox import START
from drumline.ports.sealing import Box
from drumline.ports.store import Store

CONSUMER: Final = "notifier"
HELD_SECONDS: Final = 10.0
"""How long a holder keeps the cursor after it last took it."""
STEP_SECONDS: Final = 20.0
ROWS_AT_ONCE: Final = 500
MOST_PAGES: Final = 100
"""Pages in one pass; the next pass, which follows soon, reads the rest."""
EVERY: Final = 1.0
BEHIND_EVERY: Final = 0.05
JOB_ENDS: Final = frozenset({"drumline.job.completed", "drumline.job.failed", "drumline.job.cancelled"})

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Recipient(Struct, frozen=True):
    """A target, its tenant, and its subscription: None if the task or job names the target."""

    tenant: str
    target: Target
    subscription: SubscriptionId | None = None


def recipients(
    event: Event, subscriptions: Iterable[Subscription], named: Iterable[NotifyTarget]
) -> Iterator[Recipient]:
    """Yield the recipients of an event: its subscribers, and the targets that its task or job names."""
    for subscription in subscriptions:
        if is_told(subscription, event):
            yield Recipient(subscription.tenant, subscription.target, subscription.id)
    outcome = event.type.rpartition(".")[2]
    for target in named:
        if outcome in target.on:
            yield Recipient(event.tenant, target_of(target.webhook, target.email))


class PageResult(NamedTuple):
    """The result of reading one page of the log: how many deliveries were made, and where to continue."""

    made: int
    position: int


class Reader:
    """Turns events of the log into deliveries."""

    name = "notify"

    def __init__(
        self,
        store: Store,
        *,
        holder: int,
        new_id: Callable[[], str],
        source: str,
        box: Box | None = None,
        public_url: str | None = None,
    ) -> None:
        self.every = EVERY
        self._store = store
        self._holder = holder
        self._new_id = new_id
        self._source = source
        self._public_url = public_url
        self._secrets = SigningSecrets(store.subscriptions, box)
        self._done = START
        """The position up to which the log has been read, as this notifier knows."""

    async def pass_once(self) -> int:
        """Read new events, and return how many deliveries were made; 0 if another notifier holds the cursor."""
        async with asyncio.timeout(STEP_SECONDS):
            await self._store.events.sequence()
            until = (await self._store.events.log_span()).last
            if until == self._done:
                return 0
            position = await self._store.events.take_cursor(CONSUMER, holder=self._holder, seconds=HELD_SECONDS)
        return 0 if position is None else await self._read(position, until)

    async def leave(self) -> None:
        """Release the cursor, so that another notifier can read at once."""
        async with asyncio.timeout(STEP_SECONDS):
            await self._store.events.leave_cursor(CONSUMER, holder=self._holder)

    async def _read(self, position: int, until: int) -> int:
        async with asyncio.timeout(STEP_SECONDS):
            # Read after the end of the log, so that a subscription older than an event of this pass is included.
            listening = await self._store.deliveries.listening()
        made = 0
        for _ in range(MOST_PAGES):
            if position >= until:
                break
            async with asyncio.timeout(STEP_SECONDS):
                page = await self._read_page(PickRange(after=position, until=until, limit=ROWS_AT_ONCE), listening)
            if page is None:
                log.info("cursor.lost", consumer=CONSUMER)
                return made
            made, position = made + page.made, page.position
        self._done = position
        self.every = EVERY if position >= until else BEHIND_EVERY
        if made:
            log.info("deliveries.queued", deliveries=made)
        return made

    async def _read_page(self, span: PickRange, listening: Listening) -> PageResult | None:
        """Turn a page of the log into deliveries; None if another notifier has taken the cursor."""
        interests = [_interest(subscription) for subscription in listening.subscriptions]
        picked = await self._store.events.pick_events(span, interests, has_targets=listening.has_targets)
        deliveries = await self._deliveries(picked.events, listening.subscriptions)
        new = picked.position if picked.is_full else span.until
        move = CursorMove(consumer=CONSUMER, holder=self._holder, old=span.after, new=new)
        moved = await self._store.deliveries.queue_deliveries(deliveries, move=move)
        return PageResult(len(deliveries), new) if moved else None

    async def _deliveries(self, events: Sequence[Event], subscriptions: Sequence[Subscription]) -> list[NewDelivery]:
        of_jobs = await self._targets_of_jobs(events)
        told = [
            (event, recipient)
            for event in events
            for recipient in recipients(event, subscriptions, of_jobs.get(event.subject, event.notify))
        ]
        ends = await describe_job_ends(self._store.events, {event.id: event for event, _ in told}.values())
        deliveries = [self._delivery(ends.get(event.id, event), recipient) for event, recipient in told]
        for tenant in {each.tenant for each in deliveries if each.subscription is None}:
            await self._secrets.ensure(tenant)
        return deliveries

    def _delivery(self, event: Event, recipient: Recipient) -> NewDelivery:
        link = event_link(self._public_url, event.type, event.subject)
        return NewDelivery(
            id=DeliveryId(self._new_id()),
            tenant=recipient.tenant,
            event_id=event.id,
            event_type=event.type,
            subject=event.subject,
            target=recipient.target,
            event=encode(cloud_event(event, source=self._source, link=link)),
            subscription=recipient.subscription,
        )

    async def _targets_of_jobs(self, events: Sequence[Event]) -> dict[str, tuple[NotifyTarget, ...]]:
        """Return the notification targets that ended jobs name, by job id."""
        ended = list(dict.fromkeys(JobId(event.subject) for event in events if event.type in JOB_ENDS))
        views = await self._store.jobs.get_jobs(ended) if ended else []
        return {view.id: view.options.notify for view in views if view is not None}


def _interest(subscription: Subscription) -> Interest:
    wanted = subscription.filter
    return Interest(tenant=subscription.tenant, states=states_wanted(wanted), task=wanted.task, queue=wanted.queue)
