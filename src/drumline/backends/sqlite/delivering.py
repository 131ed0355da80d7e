"""What has to be told to whom, and what became of it."""

import sqlite3
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
)
from drumline.backends.sqlite.access import batch_of
from drumline.backends.sqlite.outbox import Outbox, Row, events_of, log_end, told_in
from drumline.backends.sqlite.statements import SQL
from drumline.backends.sqlite.subscribing import Subscribing, find_subscriptions
from drumline.core.clock import Instant
from drumline.core.delivery import ClaimedDelivery, Delivery, DeliveryId, DeliveryReport, NewDelivery
from drumline.core.event import Event
from drumline.core.ids import JobId, id_above
from drumline.core.state import TERMINAL, State
from drumline.core.target import Channel
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


class Delivering(Subscribing, Outbox):
    """`ports.notifications.Delivering` and `DeliveryDesk` on SQLite."""

    async def listening(self) -> Listening:
        """Return who wants to be told of anything."""

        def look(connection: sqlite3.Connection) -> Listening:
            (has_targets,) = connection.execute(SQL["has_targets"]).fetchone()
            return Listening(tuple(find_subscriptions(connection, enabled=True)), bool(has_targets))

        return await self._database.read(look)

    async def pick_events(self, span: Span, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
        """Look through a stretch of the log."""
        return await self._database.read(lambda connection: _pick(connection, span, interests, has_targets=has_targets))

    async def ends_in_jobs(self, jobs: Sequence[JobId], outcome: State, *, limit: int) -> list[list[EndedTask]]:
        """Return up to `limit` tasks of each job that ended so."""
        wish = {"outcome": int(outcome), "newest": outcome is State.COMPLETED, "limit": limit}

        def look(connection: sqlite3.Connection) -> list[list[EndedTask]]:
            return [
                [
                    ended_task(key, task, name, error, log_end(connection, task, epoch))
                    for key, task, name, epoch, error in connection.execute(SQL["ends_in_job"], {**wish, "job": job})
                ]
                for job in jobs
            ]

        return await self._database.read(look)

    async def queue_deliveries(self, deliveries: Sequence[NewDelivery], *, move: CursorMove | None = None) -> bool:
        """Keep deliveries and move the cursor, both or neither; tell whether that was done."""
        batch = batch_of(list(zip(*delivery_columns(deliveries).values(), strict=True)))

        def work(connection: sqlite3.Connection) -> bool:
            now = self._now()
            if move is not None:
                wish = {"consumer": move.consumer, "holder": move.holder, "old": move.old, "new": move.new, "now": now}
                if not connection.execute(SQL["move_cursor"], wish).rowcount:
                    return False
            if deliveries:
                connection.execute(SQL["queue_deliveries"], {"batch": batch, "now": now})
            return True

        return await self._database.write(work)

    async def claim_webhooks(self, claim: WebhookClaim) -> list[ClaimedDelivery]:
        """Take webhooks that are due, those waiting longest first, but no target before its turn."""
        if not await self._has_waiting(Channel.WEBHOOK):
            return []

        def work(connection: sqlite3.Connection) -> list[ClaimedDelivery]:
            now = self._now()
            taken: list[ClaimedDelivery] = []
            for address, tenant, _ in _waiting(connection, Channel.WEBHOOK, now):
                if address not in claim.busy:
                    each = min(claim.each, claim.limit - len(taken))
                    box = {"address": address, "tenant": tenant, "channel": Channel.WEBHOOK}
                    lease = {"holder": claim.holder, "each": each, "lease_ms": claim.lease_ms, "now": now}
                    taken += _claimed(connection, {**box, **lease})
                if len(taken) >= claim.limit:
                    break
            return taken

        return await self._database.write(work)

    async def claim_mail(self, claim: MailClaim) -> list[ClaimedDelivery]:
        """Take mail that is due for people whose turn it is."""
        if not await self._has_waiting(Channel.EMAIL):
            return []

        def work(connection: sqlite3.Connection) -> list[ClaimedDelivery]:
            now = self._now()
            boxes = _waiting(connection, Channel.EMAIL, now)[: claim.mailboxes]
            return [
                each for address, tenant, _ in boxes for each in _claim_box(connection, claim, tenant, address, now)
            ]

        return await self._database.write(work)

    async def record_deliveries(self, reports: Sequence[DeliveryReport], *, holder: int) -> int:
        """Write what became of tries that this holder still has; return how many those were."""

        def work(connection: sqlite3.Connection) -> int:
            return sum(self._record(connection, report, holder) for report in reports)

        return await self._database.write(work)

    async def prune_deliveries(self, *, finished_before: Instant, limit: int) -> int:
        """Delete up to `limit` deliveries that ended before a time; return how many."""
        span = {"below": id_above(finished_before), "before": finished_before, "limit": limit}
        return await self._change("prune_deliveries", span)

    async def deliveries(
        self, which: DeliveryFilter, *, limit: int, before: DeliveryId | None = None
    ) -> list[Delivery]:
        """Return deliveries, newest first, starting below `before`."""
        return await self._deliveries(which, {"id": None, "before": before, "with_event": False, "limit": limit})

    async def delivery(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Return one delivery with what it sends."""
        only = {"id": id, "before": None, "with_event": True, "limit": 1}
        found = await self._deliveries(DeliveryFilter(tenant=tenant), only)
        return found[0] if found else None

    async def resend(self, id: DeliveryId, *, tenant: str | None = None) -> Delivery | None:
        """Let a delivery be tried again, now, however it ended; its tries are counted anew."""
        if not await self._change("resend", {"id": id, "tenant": tenant, "now": self._now()}):
            return None
        return await self.delivery(id)

    async def _has_waiting(self, channel: Channel) -> bool:
        """Tell whether anything is due, without holding up those who write."""
        return bool(await self._database.read(lambda connection: _waiting(connection, channel, self._now())))

    async def _deliveries(self, which: DeliveryFilter, more: dict[str, Any]) -> list[Delivery]:
        wanted = {
            "tenant": which.tenant,
            "subscription": which.subscription,
            "state": None if which.state is None else int(which.state),
            "subject": which.subject,
            "event_type": which.event_type,
            **more,
        }
        rows = await self._database.read(lambda connection: connection.execute(SQL["deliveries"], wanted).fetchall())
        return [delivery_of(row) for row in rows]

    def _record(self, connection: sqlite3.Connection, report: DeliveryReport, holder: int) -> bool:
        row = connection.execute(
            SQL["record_delivery"],
            {
                "id": report.id,
                "state": int(report.state),
                "delay": report.delay_ms,
                "status": report.status,
                "response": report.response,
                "error": report.error,
                "latency": report.latency_ms,
                "holder": holder,
                "now": self._now(),
            },
        ).fetchone()
        if row is None:
            return False
        (subscription,) = row
        if report.disables is not None and subscription is not None:
            connection.execute(SQL["disable_subscription"], {"id": subscription, "reason": report.disables})
            self._fail_deliveries(connection, subscription, DISABLED)
        return True


def _pick(connection: sqlite3.Connection, span: Span, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
    log, _, _ = connection.execute(SQL["log_span"]).fetchone()
    broad, narrow = broad_and_narrow(interests)
    wanted = broad.union(*(interest.states for interest in narrow))
    looked = TERMINAL if has_targets else wanted
    wish = {"after": span.after, "until": span.until, "limit": span.limit, "looks": bool(looked)}
    rows = [Row(*row) for row in connection.execute(SQL["pick_rows"], wish)]
    ends = [told for row in rows for told in told_in(row, states=looked)]
    of_interest = _in_lanes(connection, [told.task for told in ends if told.state in wanted - broad], narrow)
    if has_targets:
        of_interest |= _with_targets(connection, [told.task for told in ends if told.state not in broad])
    picked = [told for told in ends if told.state in broad or told.task in of_interest]
    events: list[Event] = list(events_of(connection, log, picked, logged=LOGGED_IN_NOTIFICATIONS))
    for row in rows:
        if row.facts is not None:
            events += fact_events(log, row.position, row.at, row.facts)
    events.sort(key=lambda event: event.place)
    return Picked(tuple(events), rows[-1].position if rows else span.after, is_full=len(rows) == span.limit)


def _in_lanes(connection: sqlite3.Connection, tasks: Sequence[str], narrow: Sequence[Interest]) -> frozenset[str]:
    """Return those of some tasks that are in a lane of interest."""
    lanes = [(interest.tenant, interest.queue, interest.task) for interest in narrow]
    wish = {"ids": batch_of(tasks), "lanes": batch_of(lanes)}
    rows = connection.execute(SQL["in_lanes"], wish) if tasks else ()
    return frozenset(task for (task,) in rows)


def _with_targets(connection: sqlite3.Connection, tasks: Sequence[str]) -> frozenset[str]:
    """Return those of some tasks that name targets themselves."""
    rows = connection.execute(SQL["with_targets"], {"ids": batch_of(tasks)}) if tasks else ()
    return frozenset(task for (task,) in rows)


def _waiting(connection: sqlite3.Connection, channel: Channel, now: Instant) -> list[tuple[str, str, int]]:
    return connection.execute(SQL["waiting_targets"], {"channel": channel, "now": now}).fetchall()


def _claimed(connection: sqlite3.Connection, claim: dict[str, Any]) -> list[ClaimedDelivery]:
    return [claimed_of(row) for row in connection.execute(SQL["claim_deliveries"], claim).fetchall()]


def _claim_box(
    connection: sqlite3.Connection, claim: MailClaim, tenant: str, address: str, now: Instant
) -> list[ClaimedDelivery]:
    """Take all that is due for one mailbox, or put it off until its turn."""
    box = {"tenant": tenant, "address": address}
    row = connection.execute(SQL["mailbox"], box).fetchone()
    turn, paced_to = mail_turn(row[0] if row else 0, now, burst=claim.burst, pace_ms=claim.pace_ms)
    if turn > now:
        connection.execute(SQL["put_off_mail"], {**box, "until": turn, "now": now})
        return []
    connection.execute(SQL["pace_mailbox"], {**box, "paced_to": paced_to})
    lease = {"holder": claim.holder, "each": claim.each, "lease_ms": claim.lease_ms, "now": now}
    return _claimed(connection, {**box, **lease, "channel": Channel.EMAIL})
