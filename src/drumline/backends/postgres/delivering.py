"""What has to be told to whom, and what became of it."""

from collections.abc import Sequence
from typing import Any

from drumline.backends.events import LOGGED_IN_NOTIFICATIONS, fact_events
from drumline.backends.notification_rows import (
    DISABLED,
    broad_and_narrow,
    claimed_of,
    delivery_columns,
    delivery_of,
    ended_task,
    mail_turn,
    subscription_of,
)
from drumline.backends.postgres.database import Transaction
from drumline.backends.postgres.outbox import Outbox
from drumline.backends.postgres.outputs import storable
from drumline.core.clock import Instant
from drumline.core.delivery import ClaimedDelivery, Delivery, DeliveryId, DeliveryReport, NewDelivery
from drumline.core.ids import JobId, id_above
from drumline.core.state import TERMINAL, State
from drumline.ports.notifications import (
    CursorMove,
    DeliveryFilter,
    EndedTask,
    Interest,
    Listening,
    MailClaim,
    Picked,
    Span,
    WebhookClaim,
)
from drumline.stores.driver import Line


class CursorLost(Exception):
    """The cursor is somebody else's by now, or has been moved; raised within a transaction, which is taken back."""


class Delivering(Outbox):
    """`ports.notifications.Delivering` and `DeliveryDesk` on PostgreSQL."""

    async def listening(self) -> Listening:
        """Return who wants to be told of anything."""
        rows = await self._database.fetch(Line.EVENTS, "subscriptions", repeat=True, id=None, tenant=None, enabled=True)
        ((has_targets,),) = await self._database.fetch(Line.EVENTS, "has_targets", repeat=True)
        return Listening(tuple(subscription_of(row) for row in rows), has_targets)

    async def pick_events(self, span: Span, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
        """Look through a stretch of the log."""
        log = await self._log()
        broad, narrow = broad_and_narrow(interests)
        wanted = broad.union(*(interest.states for interest in narrow))
        looked = sorted(map(int, TERMINAL if has_targets else wanted))
        rows = await self._database.fetch(
            Line.EVENTS, "pick_rows", repeat=True, after=span.after, until=span.until, limit=span.limit, states=looked
        )
        if not rows:
            return Picked((), span.after, is_full=False)
        events = [
            event
            for position, at, _, facts in rows
            if facts is not None
            for event in fact_events(log, position, at, facts)
        ]
        positions = [position for position, _, has_ends, _ in rows if has_ends]
        if positions:
            acts = await self._database.fetch(
                Line.EVENTS,
                "pick_acts",
                repeat=True,
                positions=positions,
                looked=looked,
                broad=sorted(map(int, broad)),
                narrow=sorted(map(int, wanted - broad)),
                lanes=await self._lanes_of_interest(narrow),
            )
            ends = await self._events_of(log, acts, logged=LOGGED_IN_NOTIFICATIONS)
            events = sorted(events + ends, key=lambda event: event.place)
        return Picked(tuple(events), rows[-1][0], is_full=len(rows) == span.limit)

    async def ends_in_jobs(self, jobs: Sequence[JobId], outcome: State, *, limit: int) -> list[list[EndedTask]]:
        """Return up to `limit` tasks of each job that ended so."""
        rows = await self._database.fetch(
            Line.EVENTS,
            "ends_in_jobs",
            repeat=True,
            jobs=list(jobs),
            outcome=int(outcome),
            newest=outcome is State.COMPLETED,
            limit=limit,
        )
        lanes = await self._lanes.lanes({row["lane"] for row in rows})
        logs = await self._last_lines([(row["task"], row["epoch"]) for row in rows])
        found: list[list[EndedTask]] = [[] for _ in jobs]
        for place, key, task, lane, epoch, error in rows:
            ended = ended_task(key, task, lanes[lane].name, error, logs.get((task, epoch)))
            found[place - 1].append(ended)
        return found

    async def _lanes_of_interest(self, narrow: Sequence[Interest]) -> list[int]:
        """Return the lanes that somebody is interested in."""
        lanes: set[int] = set()
        for tenant, queue, name in {(interest.tenant, interest.queue, interest.task) for interest in narrow}:
            rows = await self._database.fetch(
                Line.EVENTS, "find_lanes", repeat=True, tenant=tenant, queue=queue, name=name
            )
            lanes.update(number for (number,) in rows)
        return sorted(lanes)

    async def queue_deliveries(self, deliveries: Sequence[NewDelivery], *, move: CursorMove | None = None) -> bool:
        """Keep deliveries and move the cursor, both or neither; tell whether that was done."""

        async def work(transaction: Transaction) -> None:
            if move is not None and not await transaction.fetch(
                "move_cursor",
                consumer=move.consumer,
                holder=move.holder,
                old=move.old,
                new=move.new,
                now=self._now(),
            ):
                raise CursorLost
            if deliveries:
                columns = delivery_columns(deliveries)
                columns["events"] = [storable(text) for text in columns["events"]]
                await transaction.fetch("queue_deliveries", **columns, now=self._now())

        try:
            await self._database.transact(Line.EVENTS, work)
        except CursorLost:
            return False
        return True

    async def claim_webhooks(self, claim: WebhookClaim) -> list[ClaimedDelivery]:
        """Take webhooks that are due, those waiting longest first, but no target before its turn."""
        rows = await self._database.fetch(
            Line.EVENTS,
            "claim_webhooks",
            holder=claim.holder,
            limit=claim.limit,
            each=claim.each,
            lease_ms=claim.lease_ms,
            busy=list(claim.busy),
            now=self._now(),
        )
        return [claimed_of(row) for row in rows]

    async def claim_mail(self, claim: MailClaim) -> list[ClaimedDelivery]:
        """Take mail that is due for people whose turn it is."""
        boxes = await self._database.fetch(
            Line.EVENTS, "due_mailboxes", repeat=True, limit=claim.mailboxes, now=self._now()
        )
        taken: list[ClaimedDelivery] = []
        for tenant, address, now in boxes:
            box = {"tenant": tenant, "address": address}

            async def work(
                transaction: Transaction, box: dict[str, Any] = box, now: int = now
            ) -> list[ClaimedDelivery]:
                return await _claim_box(transaction, claim, box, now)

            taken += await self._database.transact(Line.EVENTS, work)
        return taken

    async def record_deliveries(self, reports: Sequence[DeliveryReport], *, holder: int) -> int:
        """Write what became of tries that this holder still has; return how many those were."""
        reports = sorted(reports, key=lambda report: report.id)
        reasons = {report.id: report.disables for report in reports if report.disables is not None}

        async def work(transaction: Transaction) -> int:
            rows = await transaction.fetch(
                "record_deliveries",
                ids=[report.id for report in reports],
                states=[int(report.state) for report in reports],
                delays=[report.delay_ms for report in reports],
                statuses=[report.status for report in reports],
                responses=[None if report.response is None else storable(report.response) for report in reports],
                errors=[None if report.error is None else storable(report.error) for report in reports],
                latencies=[report.latency_ms for report in reports],
                holder=holder,
                now=self._now(),
            )
            for id_, subscription in rows:
                reason = reasons.get(DeliveryId(str(id_)))
                if reason is not None and subscription is not None:
                    await transaction.fetch("disable_subscriptions", ids=[subscription], reason=reason)
                    await transaction.fetch(
                        "fail_deliveries", subscriptions=[subscription], error=DISABLED, now=self._now()
                    )
            return len(rows)

        return await self._database.transact(Line.EVENTS, work)

    async def prune_deliveries(self, *, finished_before: Instant, limit: int) -> int:
        """Delete up to `limit` deliveries that ended before a time; return how many."""
        rows = await self._database.fetch(
            Line.BROAD, "prune_deliveries", below=id_above(finished_before), before=finished_before, limit=limit
        )
        return len(rows)

    async def deliveries(
        self, which: DeliveryFilter, *, limit: int, before: DeliveryId | None = None
    ) -> list[Delivery]:
        """Return deliveries, newest first, starting below `before`."""
        return await self._deliveries(which, limit=limit, before=before)

    async def delivery(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Return one delivery with what it sends."""
        found = await self._deliveries(DeliveryFilter(tenant=tenant), limit=1, id=id, with_event=True)
        return found[0] if found else None

    async def resend(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Let a delivery be tried again, now, however it ended; its tries are counted anew."""
        found = await self._database.fetch(
            Line.DESK, "resend", repeat=True, within=tenant, id=id, tenant=tenant, now=self._now()
        )
        return await self.delivery(id, tenant=tenant) if found else None

    async def _deliveries(
        self,
        which: DeliveryFilter,
        *,
        limit: int,
        before: DeliveryId | None = None,
        id: DeliveryId | None = None,
        with_event: bool = False,
    ) -> list[Delivery]:
        rows = await self._database.fetch(
            Line.BROAD,
            "deliveries",
            repeat=True,
            within=which.tenant,
            id=id,
            before=before,
            tenant=which.tenant,
            subscription=which.subscription,
            state=None if which.state is None else int(which.state),
            subject=which.subject,
            event_type=which.event_type,
            with_event=with_event,
            limit=limit,
        )
        return [delivery_of(row) for row in rows]


async def _claim_box(
    transaction: Transaction, claim: MailClaim, box: dict[str, Any], now: int
) -> list[ClaimedDelivery]:
    """Take all that is due for one mailbox, or put it off until its turn; nothing if another notifier is at it."""
    locked = await transaction.fetch("lock_mailbox", **box)
    if not locked:
        return []
    turn, paced_to = mail_turn(locked[0][0], now, burst=claim.burst, pace_ms=claim.pace_ms)
    if turn > now:
        await transaction.fetch("put_off_mail", **box, until=turn, now=now)
        return []
    rows = await transaction.fetch(
        "claim_mail", **box, holder=claim.holder, each=claim.each, lease_ms=claim.lease_ms, now=now
    )
    if rows:
        await transaction.fetch("pace_mailbox", **box, paced_to=paced_to)
    return [claimed_of(row) for row in rows]
