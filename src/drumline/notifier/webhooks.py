"""Sends due webhooks: many at once, a few at once to one target, and records the result of each."""

import asyncio
from collections import Counter
from typing import Final
from urllib.parse import urlsplit

import structlog
from msgspec import Struct

from drumline.core.clock import Clock
from drumline.core.delivery import ClaimedDelivery, DeliveryReport, DeliveryState
from drumline.core.errors import Unreadable
from drumline.core.event import trace_of
from drumline.core.signing import active
from drumline.engine.signing import open_signing, signing_purpose
from drumline.notifier.recorder import DeliveryRecorder
from drumline.notifier.retry_policy import RetryPolicy
from drumline.outbound.webhook import WebhookFailed, WebhookMessage, WebhookSender
from drumline.ports.notifications import Deliveries, WebhookClaim
from drumline.ports.sealing import Box, NoBox
from drumline.ports.tracing import NO_TRACER, TraceKind, Tracer

EACH: Final = 4
"""Concurrent tries to one target: a receiver that hangs delays only its own deliveries."""
LEASE_SPARE: Final = 15.0
"""Seconds added to a try's timeout to get its lease; after that another notifier may claim it."""
CLAIM_SECONDS: Final = 15.0
PAUSE: Final = 0.05
"""Seconds between two claims while every slot is taken."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class WebhookSettings(Struct, frozen=True, kw_only=True):
    """How webhooks are sent: how many at once, what opens their signing secrets, and where spans go."""

    concurrency: int = 32
    box: Box = NoBox()
    tracer: Tracer = NO_TRACER


class WebhookDispatcher:
    """Claims due webhook deliveries, sends each, and records its result."""

    name = "deliver webhooks"
    every = 0.5

    def __init__(
        self,
        store: Deliveries,
        settings: WebhookSettings,
        sender: WebhookSender,
        recorder: DeliveryRecorder,
        retry: RetryPolicy,
        *,
        clock: Clock,
    ) -> None:
        self._store = store
        self._settings = settings
        self._sender = sender
        self._recorder = recorder
        self._retry = retry
        self._clock = clock
        self._lease_ms = round((sender.timeout + LEASE_SPARE) * 1000)
        self._tries: dict[asyncio.Task[None], str] = {}
        """The target of each running try."""

    async def pass_once(self) -> int:
        """Start tries that are due, up to the concurrency limit, and return how many were started."""
        started = 0
        while True:
            free = self._settings.concurrency - len(self._tries)
            claimed = await self._claim(free) if free else []
            for delivery in claimed:
                self._start(delivery)
            started += len(claimed)
            if len(claimed) < free:
                return started
            await asyncio.wait(self._tries, timeout=PAUSE)

    async def drained(self) -> None:
        """Wait until no try is running."""
        while self._tries:
            await asyncio.wait(self._tries)

    async def _claim(self, limit: int) -> list[ClaimedDelivery]:
        busy = tuple(target for target, count in Counter(self._tries.values()).items() if count >= EACH)
        claim = WebhookClaim(holder=self._recorder.holder, limit=limit, each=EACH, lease_ms=self._lease_ms, busy=busy)
        async with asyncio.timeout(CLAIM_SECONDS):
            return await self._store.claim_webhooks(claim)

    def _start(self, delivery: ClaimedDelivery) -> None:
        name = f"delivery {delivery.id}"
        task = asyncio.get_running_loop().create_task(self._try(delivery), name=name)
        self._tries[task] = delivery.target.address
        task.add_done_callback(self._tries.pop)

    async def _try(self, delivery: ClaimedDelivery) -> None:
        trace = trace_of(delivery.event) if self._settings.tracer.is_on else None
        if trace is None:
            await self._tried(delivery, None)
            return
        facts = {
            "http.request.method": "POST",
            "server.address": urlsplit(delivery.target.address).hostname or "",
            "drumline.delivery.id": delivery.id,
            "drumline.event.type": delivery.event_type,
        }
        with self._settings.tracer.span("POST webhook", TraceKind.CLIENT, parent=trace, facts=facts) as span:
            report = await self._tried(delivery, span.traceparent)
            if report.status is not None:
                span.note("http.response.status_code", report.status)
            if report.error is not None:
                span.fail(report.error)

    async def _tried(self, delivery: ClaimedDelivery, trace: str | None) -> DeliveryReport:
        began = self._clock.monotonic()
        try:
            message = WebhookMessage(id=delivery.id, body=delivery.event, secrets=self._secrets(delivery), trace=trace)
            answer = await self._sender.send(delivery.target.address, message)
        except WebhookFailed as error:
            report = self._failed(delivery, error, self._since(began))
        except Exception as error:
            # An error that we did not expect counts as a try: otherwise the delivery would be tried forever.
            log.warning("webhook.broken", delivery=delivery.id, exc_info=error)
            report = self._failed(delivery, WebhookFailed(f"{type(error).__name__}: {error}"), self._since(began))
        else:
            report = DeliveryReport(
                id=delivery.id,
                state=DeliveryState.DELIVERED,
                status=answer.status,
                response=answer.response,
                latency_ms=self._since(began),
            )
        await self._recorder.record([report], kind="webhook")
        return report

    def _secrets(self, delivery: ClaimedDelivery) -> tuple[str, ...]:
        purpose = signing_purpose(delivery.tenant, delivery.subscription)
        try:
            return tuple(
                open_signing(self._settings.box, text, purpose) for text in active(delivery.secrets, delivery.now)
            )
        except Unreadable as error:
            raise WebhookFailed(f"its signing secret cannot be opened: {error.message}") from error

    def _failed(self, delivery: ClaimedDelivery, error: WebhookFailed, latency_ms: int) -> DeliveryReport:
        delay = self._retry.delay_ms(delivery.attempt, at_least=error.retry_after or 0.0)
        if error.permanent or delivery.is_test:
            delay = None
        log.info(
            "webhook.failed", delivery=delivery.id, attempt=delivery.attempt, error=str(error), is_last=delay is None
        )
        return DeliveryReport(
            id=delivery.id,
            state=DeliveryState.FAILED if delay is None else DeliveryState.PENDING,
            delay_ms=delay or 0,
            status=error.status,
            response=error.response,
            error=str(error),
            latency_ms=latency_ms,
            disables=f"its receiver {error}" if error.is_gone else None,
        )

    def _since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)
