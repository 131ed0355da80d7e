"""Sends due mail: one message per address for all its waiting deliveries, at a limited rate per address."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import Final

import structlog
from msgspec import Struct

from drumline.core.clock import Clock
from drumline.core.delivery import ClaimedDelivery, DeliveryReport, DeliveryState
from drumline.core.duration import millis
from drumline.core.errors import Invalid
from drumline.notifier.mail_template import MailTemplate, compose_mail
from drumline.notifier.recorder import DeliveryRecorder
from drumline.notifier.retry_policy import RetryPolicy
from drumline.outbound.mail import MailFailed, MailServer, send
from drumline.ports.notifications import Deliveries, MailClaim

AT_ONCE: Final = 8
"""Messages sent at once."""
MOST_IN_A_MESSAGE: Final = 500
LEASE_SPARE: Final = 60.0
CLAIM_SECONDS: Final = 30.0
ACCEPTED: Final = 250

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class MailRate(Struct, frozen=True, kw_only=True):
    """How often one address gets mail: a few messages at once, then one per interval."""

    burst: int = 3
    every: timedelta = timedelta(minutes=5)


class MailSettings(Struct, frozen=True, kw_only=True):
    """How mail is sent: the server (None if there is none), the rate per address and the template."""

    smtp: MailServer | None
    rate: MailRate = MailRate()
    template: MailTemplate = MailTemplate()


class MailSender:
    """Claims due mail deliveries, sends one message per address, and records the results."""

    name = "deliver mail"
    every = 1.0

    def __init__(
        self,
        store: Deliveries,
        settings: MailSettings,
        recorder: DeliveryRecorder,
        retry: RetryPolicy,
        *,
        clock: Clock,
    ) -> None:
        self._store = store
        self._settings = settings
        self._recorder = recorder
        self._retry = retry
        self._clock = clock
        self._lease_ms = round(((settings.smtp.timeout if settings.smtp else 0.0) + LEASE_SPARE) * 1000)

    async def pass_once(self) -> int:
        """Send what is due to the addresses that may get mail now, and return how many messages were accepted."""
        claim = MailClaim(
            holder=self._recorder.holder,
            mailboxes=AT_ONCE,
            each=MOST_IN_A_MESSAGE,
            lease_ms=self._lease_ms,
            burst=self._settings.rate.burst,
            pace_ms=millis(self._settings.rate.every),
        )
        async with asyncio.timeout(CLAIM_SECONDS):
            claimed = await self._store.claim_mail(claim)
        claimed.sort(key=_mailbox)
        boxes = [list(deliveries) for _, deliveries in groupby(claimed, key=_mailbox)]
        return sum(await asyncio.gather(*(self._deliver(deliveries) for deliveries in boxes)))

    async def _deliver(self, deliveries: list[ClaimedDelivery]) -> bool:
        began = self._clock.monotonic()
        try:
            await self._send(deliveries)
        except (MailFailed, Invalid) as error:
            await self._recorder.record(self._failed(deliveries, error, self._since(began)), kind="mail")
            return False
        except Exception as error:
            # An error that we did not expect counts as a try: otherwise the delivery would be tried forever.
            log.warning("mail.broken", deliveries=len(deliveries), exc_info=error)
            failed = MailFailed(f"{type(error).__name__}: {error}", permanent=False)
            await self._recorder.record(self._failed(deliveries, failed, self._since(began)), kind="mail")
            return False
        delivered = [
            DeliveryReport(
                id=delivery.id, state=DeliveryState.DELIVERED, status=ACCEPTED, latency_ms=self._since(began)
            )
            for delivery in deliveries
        ]
        await self._recorder.record(delivered, kind="mail")
        return True

    async def _send(self, deliveries: Sequence[ClaimedDelivery]) -> None:
        if self._settings.smtp is None:
            raise MailFailed("there is no mail server: set smtp.host", permanent=False)
        await send(compose_mail(deliveries, self._settings.template), self._settings.smtp)

    def _failed(
        self, deliveries: Sequence[ClaimedDelivery], error: MailFailed | Invalid, latency_ms: int
    ) -> list[DeliveryReport]:
        log.info("mail.failed", deliveries=len(deliveries), error=str(error))
        is_permanent = isinstance(error, Invalid) or error.permanent
        delays = [None if is_permanent or each.is_test else self._retry.delay_ms(each.attempt) for each in deliveries]
        return [
            DeliveryReport(
                id=delivery.id,
                state=DeliveryState.FAILED if delay is None else DeliveryState.PENDING,
                delay_ms=delay or 0,
                status=None if isinstance(error, Invalid) else error.code,
                error=str(error),
                latency_ms=latency_ms,
            )
            for delivery, delay in zip(deliveries, delays, strict=True)
        ]

    def _since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)


def _mailbox(delivery: ClaimedDelivery) -> tuple[str, str]:
    return delivery.tenant, delivery.target.address
