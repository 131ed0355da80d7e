"""Puts a notifier together as `lifecycle/notifier_process.py` does, before the simulated receiver."""

from datetime import timedelta
from functools import partial
from random import Random, SystemRandom

import httpx

from drumline.core.ids import IdSource
from drumline.core.retry import Backoff
from drumline.engine.engine import Engine
from drumline.notifier.mail import MailSender, MailSettings
from drumline.notifier.prune import DeliveryPruner
from drumline.notifier.reader import Reader
from drumline.notifier.recorder import DeliveryRecorder
from drumline.notifier.retry_policy import RetryPolicy
from drumline.notifier.webhooks import WebhookDispatcher, WebhookSettings
from drumline.outbound.guard import AddressGuard
from drumline.outbound.webhook import WebhookSender
from drumline.scheduler.duty import Duty
from drumline.testing.clock import SimulatedClock
from tests.simulation.outside import Receiver, ReceiverTransport

TIMEOUT = 3.0
RETRIES = Backoff(base=1.0, factor=1.5, cap=5.0)
"""Shorter than in an installation: a simulation ends when all is delivered."""


def notifier_duties(engine: Engine, receiver: Receiver, clock: SimulatedClock) -> list[Duty]:
    """Return what a notifier does."""
    store, metrics, secure = engine.store, engine.metrics, SystemRandom()
    holder = secure.getrandbits(62)
    new_id = IdSource(clock.now, Random(secure.getrandbits(256))).next
    retry = RetryPolicy(give_up_after=timedelta(days=1), backoff=RETRIES)
    recorder = DeliveryRecorder(store.deliveries, holder=holder, metrics=metrics)
    client = partial(httpx.AsyncClient, transport=ReceiverTransport(receiver), trust_env=False, timeout=None)
    sender = WebhookSender(AddressGuard(), clock=clock, timeout=TIMEOUT, make_client=client)
    webhooks = WebhookSettings(box=engine.secrets.box)
    return [
        Reader(store, holder=holder, new_id=new_id, source="simulated", box=engine.secrets.box),
        WebhookDispatcher(store.deliveries, webhooks, sender, recorder, retry, clock=clock),
        MailSender(store.deliveries, MailSettings(smtp=None), recorder, retry, clock=clock),
        DeliveryPruner(store, retention=timedelta(days=1)),
    ]
