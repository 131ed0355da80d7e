"""The postman: brings mail to people, one letter for all that waits for somebody, never faster than they can bear."""

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
from drumline.notifier.letters import Letterhead, write_letter
from drumline.notifier.patience import Patience
from drumline.notifier.recording import Recorder
from drumline.outbound.smtp import MailFailed, SmtpSettings, send
from drumline.ports.notifications import Deliveries, MailClaim

AT_ONCE: Final = 8
"""Letters under way at once."""
MOST_IN_A_LETTER: Final = 500
LEASE_SPARE: Final = 60.0
CLAIM_SECONDS: Final = 30.0
ACCEPTED: Final = 250

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Pace(Struct, frozen=True, kw_only=True):
    """How often somebody gets mail: a few at once, then one each so often."""

    burst: int = 3
    every: timedelta = timedelta(minutes=5)


class PostOffice(Struct, frozen=True, kw_only=True):
    """How mail is sent: through which server, if there is one, how often, and on what paper."""

    smtp: SmtpSettings | None
    pace: Pace = Pace()
    head: Letterhead = Letterhead()


class Postman:
    """Delivers mail."""

    name = "deliver mail"
    every = 1.0

    def __init__(
        self,
        store: Deliveries,
        office: PostOffice,
        recorder: Recorder,
        patience: Patience,
        *,
        clock: Clock,
    ) -> None:
        self._store = store
        self._office = office
        self._recorder = recorder
        self._patience = patience
        self._clock = clock
        self._lease_ms = round(((office.smtp.timeout if office.smtp else 0.0) + LEASE_SPARE) * 1000)

    async def pass_once(self) -> int:
        """Bring what is due to those whose turn it is, and return how many letters were accepted."""
        claim = MailClaim(
            holder=self._recorder.holder,
            mailboxes=AT_ONCE,
            each=MOST_IN_A_LETTER,
            lease_ms=self._lease_ms,
            burst=self._office.pace.burst,
            pace_ms=millis(self._office.pace.every),
        )
        async with asyncio.timeout(CLAIM_SECONDS):
            claimed = await self._store.claim_mail(claim)
        claimed.sort(key=_mailbox)
        boxes = [list(deliveries) for _, deliveries in groupby(claimed, key=_mailbox)]
        return sum(await asyncio.gather(*(self._bring(deliveries) for deliveries in boxes)))

    async def _bring(self, deliveries: list[ClaimedDelivery]) -> bool:
        began = self._clock.monotonic()
        try:
            await self._send(deliveries)
        except (MailFailed, Invalid) as error:
            await self._recorder.record(self._failed(deliveries, error, self._since(began)), kind="mail")
            return False
        except Exception as error:
            # Nobody thought of it. It counts as a try: else this would be tried for ever, without a word to anybody.
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
        if self._office.smtp is None:
            raise MailFailed("there is no mail server: set smtp.host", permanent=False)
        await send(write_letter(deliveries, self._office.head), self._office.smtp)

    def _failed(
        self, deliveries: Sequence[ClaimedDelivery], error: MailFailed | Invalid, latency_ms: int
    ) -> list[DeliveryReport]:
        log.info("mail.failed", deliveries=len(deliveries), error=str(error))
        is_permanent = isinstance(error, Invalid) or error.permanent
        delays = [
            None if is_permanent or each.is_test else self._patience.delay_ms(each.attempt) for each in deliveries
        ]
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
