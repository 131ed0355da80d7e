"""The notifier as a process, alone or as a part of `drumline dev`."""

import asyncio
from contextlib import suppress
from random import Random, SystemRandom

from drumline.core.clock import SystemClock
from drumline.core.errors import DrumlineError, Invalid
from drumline.core.ids import IdSource
from drumline.core.metrics import Metrics
from drumline.engine.engine import Engine
from drumline.lifecycle.live import following
from drumline.lifecycle.mail_server import mail_server
from drumline.lifecycle.monitoring import traced, watched
from drumline.lifecycle.processes import opened
from drumline.lifecycle.shard_services import following_shards, for_each_shard
from drumline.lifecycle.stages import Service, Stage, run_in_stages
from drumline.lifecycle.stop_signals import stopping_by_signal
from drumline.notifier.mail import MailRate, MailSender, MailSettings
from drumline.notifier.mail_template import MailTemplate
from drumline.notifier.prune import DeliveryPruner
from drumline.notifier.reader import Reader
from drumline.notifier.recorder import DeliveryRecorder
from drumline.notifier.retry_policy import RetryPolicy
from drumline.notifier.webhooks import WebhookDispatcher, WebhookSettings
from drumline.outbound.guard import AddressGuard, parse_allowed
from drumline.outbound.webhook import WebhookSender
from drumline.scheduler.duty import Rounds
from drumline.settings import Settings, Sources


async def run_notifier(settings: Settings, sources: Sources | None = None) -> None:
    """Run a notifier alone; any number of them may run."""
    async with (
        traced(settings.trace, role="notifier") as tracer,
        opened(settings, tracer=tracer) as wired,
        following(wired.engine, settings, sources),
    ):
        with stopping_by_signal() as stopping:
            async with watched(wired.engine.metrics, settings, stopping, role="notifier") as watch:
                services = {
                    "shards": following_shards(wired.shards),
                    "notifier": for_each_shard(
                        wired.shards, lambda shard: notifier_services(shard.engine, settings, is_embedded=False)
                    ),
                }
                await run_in_stages([Stage(services), Stage(watch.services)], stopping)


def notifier_services(engine: Engine, settings: Settings, *, is_embedded: bool) -> dict[str, Service]:
    """Return what a notifier does, or raise `Invalid` for a setting that makes no sense."""
    notify, store, box = settings.notify, engine.store, engine.secrets.box
    metrics = engine.metrics
    if not notify.timeout:
        raise Invalid("must be more than zero", field="notify.timeout")
    clock = SystemClock()
    secure = SystemRandom()
    holder = secure.getrandbits(62)
    # Ids need not be secret, only distinct.
    new_id = IdSource(clock.now, Random(secure.getrandbits(256))).next  # noqa: S311
    retry = RetryPolicy(give_up_after=notify.give_up_after)
    recorder = DeliveryRecorder(store.deliveries, holder=holder, metrics=metrics)
    sender = WebhookSender(
        AddressGuard(parse_allowed(notify.allow, field="notify.allow"), setting="notify.allow"),
        clock=clock,
        timeout=notify.timeout.total_seconds(),
        follow_redirects=notify.follow_redirects,
    )
    reader = Reader(
        store,
        holder=holder,
        new_id=new_id,
        source=settings.events.source,
        box=box,
        public_url=settings.public_url,
    )
    webhook_settings = WebhookSettings(concurrency=notify.concurrency, box=box, tracer=engine.tracer)
    webhooks = WebhookDispatcher(store.deliveries, webhook_settings, sender, recorder, retry, clock=clock)
    mail_settings = MailSettings(
        smtp=mail_server(settings, is_embedded=is_embedded),
        rate=MailRate(burst=notify.mail_burst, every=notify.mail_every),
        template=MailTemplate(public_url=settings.public_url, domain=_domain_of(settings.smtp.sender)),
    )
    mail = MailSender(store.deliveries, mail_settings, recorder, retry, clock=clock)
    pruner = DeliveryPruner(store, retention=settings.retention)
    return {
        reader.name: _reading(reader, metrics),
        webhooks.name: _calling(webhooks, sender, metrics),
        mail.name: Rounds(mail, metrics=metrics).run,
        pruner.name: Rounds(pruner, metrics=metrics).run,
    }


def _reading(reader: Reader, metrics: Metrics) -> Service:
    async def service(stop: asyncio.Event) -> None:
        await Rounds(reader, metrics=metrics).run(stop)
        with suppress(DrumlineError, TimeoutError):  # if the store is away, the cursor is free by itself in a while
            await reader.leave()

    return service


def _calling(webhooks: WebhookDispatcher, sender: WebhookSender, metrics: Metrics) -> Service:
    async def service(stop: asyncio.Event) -> None:
        try:
            await Rounds(webhooks, metrics=metrics).run(stop)
            await webhooks.drained()
        finally:
            await sender.close()

    return service


def _domain_of(sender: str) -> str:
    return sender.rpartition("@")[2].strip("> ") or "localhost"
