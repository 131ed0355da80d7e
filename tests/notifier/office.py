"""The parts of a notifier put together on a store, passed by hand instead of in rounds."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

from drumline.core.clock import ManualClock, SystemClock
from drumline.core.delivery import Delivery
from drumline.core.ids import IdSource, TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.retry import Backoff
from drumline.core.signing import SigningSecret
from drumline.core.state import Act
from drumline.core.subscription import EventFilter, NewSubscription, Subscription, SubscriptionId
from drumline.core.target import target_of
from drumline.core.task import accept
from drumline.notifier.mail import MailRate, MailSender, MailSettings
from drumline.notifier.mail_template import MailTemplate
from drumline.notifier.reader import Reader
from drumline.notifier.recorder import DeliveryRecorder
from drumline.notifier.retry_policy import RetryPolicy
from drumline.notifier.webhooks import WebhookDispatcher, WebhookSettings
from drumline.outbound.guard import AddressGuard, Resolve, parse_allowed, resolve
from drumline.outbound.mail import MailServer
from drumline.outbound.webhook import WebhookSender
from drumline.ports.notifications import DeliveryFilter
from drumline.ports.store import LogChunk, Settlement, Store
from tests.factories import OOPS, claim, claim_one, new_id, open_session, request, settle, submit

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU="
BACKOFF = Backoff(base=10, factor=2, cap=3600)


class Office:
    """A notifier; `allow` is what its operator allows."""

    def __init__(
        self,
        store: Store,
        clock: ManualClock,
        *,
        smtp: MailServer | None = None,
        allow: tuple[str, ...] = ("127.0.0.1",),
        resolver: Resolve = resolve,
        follow_redirects: bool = False,
        timeout: float = 30,
    ) -> None:
        self.store = store
        self.clock = clock
        holder = Random().getrandbits(62)
        retry = RetryPolicy(give_up_after=timedelta(hours=2), backoff=BACKOFF, random=lambda: 0.0)
        recorder = DeliveryRecorder(store.deliveries, holder=holder)
        guard = AddressGuard(parse_allowed(allow, field="allow"), resolve=resolver)
        # Receivers check the time of a message by their own clock, which is the machine's.
        self.sender = WebhookSender(guard, clock=SystemClock(), timeout=timeout, follow_redirects=follow_redirects)
        self.reader = Reader(
            store,
            holder=holder,
            new_id=IdSource(clock.now, Random()).next,
            source="/tests",
            public_url="https://drumline.example/drums",
        )
        self.webhooks = WebhookDispatcher(
            store.deliveries, WebhookSettings(), self.sender, recorder, retry, clock=SystemClock()
        )
        template = MailTemplate(public_url="https://drumline.example/drums", domain="example.org")
        self.mail = MailSender(
            store.deliveries,
            MailSettings(smtp=smtp, rate=MailRate(), template=template),
            recorder,
            retry,
            clock=SystemClock(),
        )

    async def close(self) -> None:
        await self.webhooks.drained()
        await self.sender.close()

    async def deliver(self) -> None:
        """Read what happened and try everything that is due, once."""
        await self.reader.pass_once()
        await self.webhooks.pass_once()
        await self.webhooks.drained()
        await self.mail.pass_once()

    async def subscribe(self, *, webhook: str | None = None, email: str | None = None, **wanted: Any) -> Subscription:
        return await self.store.subscriptions.create_subscription(
            NewSubscription(
                id=SubscriptionId(new_id()),
                tenant="default",
                name=new_id(),
                filter=EventFilter(**wanted),
                target=target_of(webhook, email),
                secrets=(SigningSecret(SECRET),),
            )
        )

    async def deliveries(self) -> list[Delivery]:
        """Return the deliveries, oldest first."""
        return (await self.store.deliveries.deliveries(DeliveryFilter(), limit=1000))[::-1]

    async def only(self) -> Delivery:
        (delivery,) = await self.deliveries()
        return delivery

    async def run(self, act: Act, name: str = "work", *, error: ErrorInfo | None = None, **fields: Any) -> TaskId:
        """Let a task end."""
        task = await submit(self.store, name, **fields)
        claimed = await claim_one(self.store, await open_session(self.store, name), name)
        await self.store.outputs.append_log([LogChunk(task=task, epoch=1, seq=0, text="starting\ncharging 7 \u20ac\n")])
        self.clock.advance(2.5)
        await settle(self.store, claimed.lease, act, **({} if error is None else {"error": error}))
        return task

    async def fail_many(self, names: Sequence[str]) -> None:
        """Let many tasks fail at once."""
        await self.store.submit([accept(request(name), id=new_id()) for name in names])
        session = await open_session(self.store, *set(names))
        claimed = await claim(self.store, session, *set(names), limit=len(names))
        settlements = [Settlement(lease=each.lease, act=Act.FAIL, error=OOPS) for each in claimed]
        assert len(await self.store.settle(settlements)) == len(names)
