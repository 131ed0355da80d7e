"""Deliveries: what has to be sent to whom, and what became of it."""

from collections.abc import Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.delivery import ClaimedDelivery, Delivery, DeliveryId, DeliveryReport, NewDelivery
from drumline.core.ids import id_above
from drumline.core.target import TargetKind
from drumline.ports.notifications import CursorMove, DeliveryFilter, Listening, MailClaim, WebhookClaim
from drumline.stores.driver import Line, Part, Transaction, storable
from drumline.stores.notification_rows import (
    DISABLED,
    claimed_of,
    delivery_columns,
    delivery_of,
    mail_turn,
    subscription_of,
)


class CursorLost(Exception):
    """Another process holds the cursor by now, or has moved it; raised in a transaction, which is rolled back."""


class Deliveries(Part):
    """`ports.notifications.Deliveries`."""

    async def listening(self) -> Listening:
        """Return the enabled subscriptions, and whether any task names targets itself."""
        rows = await self._database.fetch(Line.EVENTS, "subscriptions", repeat=True, id=None, tenant=None, enabled=True)
        ((has_targets,),) = await self._database.fetch(Line.EVENTS, "has_targets", repeat=True)
        return Listening(tuple(subscription_of(row) for row in rows), bool(has_targets))

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
        if not await self._is_due(TargetKind.WEBHOOK):
            return []
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
        if not await self._is_due(TargetKind.EMAIL):
            return []
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
            Line.REQUEST, "resend", repeat=True, within=tenant, id=id, tenant=tenant, now=self._now()
        )
        return await self.delivery(id, tenant=tenant) if found else None

    async def _is_due(self, channel: TargetKind) -> bool:
        """Tell whether there is anything to claim, without a transaction that writes."""
        return bool(
            await self._database.fetch(
                Line.EVENTS, "is_delivery_due", repeat=True, channel=int(channel), now=self._now()
            )
        )

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
