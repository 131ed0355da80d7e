"""Subscriptions: make, look, change, try out, and change their secrets."""

from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from drumline.api.deliveries import DeliveryBody, delivery_body
from drumline.api.key_restrictions import check_filter
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.stopping import unless_stopped
from drumline.core.accept_subscription import SubscriptionPatch, SubscriptionRequest
from drumline.core.access import Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.duration import parse_duration
from drumline.core.field_schema import WAIT, about
from drumline.core.ids import parse_task_id
from drumline.core.subscription import Subscription, SubscriptionId
from drumline.core.target import TargetKind
from drumline.core.views import Moment, TaskIdText

DEFAULT_OVERLAP = "24h"


class SubscriptionBody(Struct, frozen=True, kw_only=True):
    """A subscription: which events, narrowed by what is not null, and where they are told."""

    id: TaskIdText
    name: str
    events: tuple[str, ...]
    task: str | None
    queue: str | None
    job: str | None
    tag: str | None
    webhook: str | None
    email: str | None
    enabled: bool
    disabled_reason: str | None
    created_at: Moment
    secret: str | UnsetType = UNSET
    """Only in the answer to its making."""


class SubscriptionList(Struct, frozen=True):
    """The subscriptions, oldest first."""

    items: tuple[SubscriptionBody, ...]


class RotateRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How long the old secret signs beside the new one."""

    overlap: Annotated[
        float | str,
        about(
            "How long the old secret signs beside the new one, at most 90 days. "
            'Seconds, or text such as "1h30m" or "PT1H30M".',
            anyOf=[
                {"type": "number", "minimum": 0, "maximum": 7_776_000},
                {"type": "string", "pattern": "^([0-9]{1,3}(ms|[hms])){1,3}$"},
            ],
            examples=[1.5, "1h30m"],
        ),
    ] = DEFAULT_OVERLAP


class SecretBody(Struct, frozen=True):
    """A secret, shown once."""

    secret: str


class TestQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait for the first try, in seconds."""

    wait: Annotated[float, about("Seconds to wait until a notifier has tried it.", **WAIT)] = 0.0


async def create_subscription(call: ApiCall[SubscriptionRequest, NoQuery]) -> Reply:
    """Keep a subscription, and show the secret that signs its webhooks, this once."""
    check_filter(call, call.body.task, call.body.queue)
    made = await call.engine.subscriptions.create(call.body, tenant=call.home)
    call.note(after=subscription_body(made.subscription))
    location = ((b"location", f"/api/v1/subscriptions/{made.subscription.id}".encode()),)
    return Reply(encode(subscription_body(made.subscription, secret=made.secret)), 201, headers=location)


async def list_subscriptions(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the subscriptions, oldest first."""
    found = await call.engine.store.subscriptions.subscriptions(tenant=call.tenant)
    return Reply(encode(SubscriptionList(tuple(subscription_body(each) for each in found))))


async def get_subscription(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a subscription."""
    found = await call.engine.subscriptions.get(_id_of(call), tenant=call.tenant)
    return Reply(encode(subscription_body(found)))


async def change_subscription(call: ApiCall[SubscriptionPatch, NoQuery]) -> Reply:
    """Change a subscription. What waits to be delivered for one that is disabled fails."""
    before = await _own(call)
    call.note(before=subscription_body(before))
    check_filter(call, *_after(call.body, before))
    changed = await call.engine.subscriptions.change(_id_of(call), call.body, tenant=call.tenant)
    call.note(after=subscription_body(changed))
    return Reply(encode(subscription_body(changed)))


async def delete_subscription(call: ApiCall[None, NoQuery]) -> Reply:
    """Forget a subscription. What waits to be delivered for it fails."""
    call.note(before=subscription_body(await _own(call)))
    await call.engine.subscriptions.delete(_id_of(call), tenant=call.tenant)
    return Reply(b"", 204)


async def rotate_subscription(call: ApiCall[RotateRequest, NoQuery]) -> Reply:
    """Give a subscription a new secret, and show it, this once; for a while the old one signs too."""
    overlap = parse_duration(call.body.overlap, field="overlap")
    await _own(call)
    secret = await call.engine.subscriptions.rotate(_id_of(call), overlap=overlap, tenant=call.tenant)
    return Reply(encode(SecretBody(secret)))


async def rotate_notify(call: ApiCall[RotateRequest, NoQuery]) -> Reply:
    """Make a new secret for the webhooks that tasks and jobs name in `notify`, and show it, this once."""
    overlap = parse_duration(call.body.overlap, field="overlap")
    return Reply(encode(SecretBody(await call.engine.subscriptions.rotate(None, overlap=overlap, tenant=call.home))))


async def send_test(call: ApiCall[None, TestQuery]) -> Reply:
    """Send a test to a subscription's target, and wait for how it goes, if asked to."""
    seconds = call.wait(call.query.wait)
    await _own(call)
    delivery = await call.engine.subscriptions.send_test(_id_of(call), tenant=call.tenant)
    if seconds > 0:
        waiting = call.engine.subscriptions.tried(delivery.id, seconds=seconds)
        delivery = await unless_stopped(waiting, stop=call.context.stop, receive=call.receive) or delivery
    return Reply(encode(delivery_body(delivery)), 202)


def _after(patch: SubscriptionPatch, before: Subscription) -> tuple[str | None, str | None]:
    """Return the task name and queue that a subscription is narrowed to after a change."""
    task = before.filter.task if patch.task is UNSET else patch.task
    queue = before.filter.queue if patch.queue is UNSET else patch.queue
    return task, queue


async def _own(call: ApiCall[Any, Any]) -> Subscription:
    """Return the subscription that the path names; `Forbidden` if it covers more than the caller's key."""
    found = await call.engine.subscriptions.get(_id_of(call), tenant=call.tenant)
    check_filter(call, found.filter.task, found.filter.queue)
    return found


def subscription_body(subscription: Subscription, *, secret: str | None = None) -> SubscriptionBody:
    """Return a subscription as it is shown, with its secret only when it was just made."""
    wanted, target = subscription.filter, subscription.target
    return SubscriptionBody(
        id=subscription.id,
        name=subscription.name,
        events=wanted.events,
        task=wanted.task,
        queue=wanted.queue,
        job=wanted.job,
        tag=wanted.tag,
        webhook=target.address if target.channel is TargetKind.WEBHOOK else None,
        email=target.address if target.channel is TargetKind.EMAIL else None,
        enabled=subscription.is_enabled,
        disabled_reason=subscription.disabled_reason,
        created_at=moment_of(subscription.created_at),
        secret=UNSET if secret is None else secret,
    )


def _id_of(call: ApiCall[Any, Any]) -> SubscriptionId:
    return SubscriptionId(parse_task_id(call.params["id"]))


_PATH = "/api/v1/subscriptions"

OPERATIONS = (
    Operation(
        method="POST", path=_PATH, handler=create_subscription, tag=Tag.NOTIFICATIONS,
        summary="Subscribe to events by webhook or mail",
        largest=lambda limits: limits.request_lists, body=SubscriptionRequest, answer=SubscriptionBody, status=201,
        permission=Permission.SUBSCRIPTIONS_WRITE, audit_act="subscription.create", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path=_PATH, handler=list_subscriptions, tag=Tag.NOTIFICATIONS, summary="List the subscriptions",
        answer=SubscriptionList, permission=Permission.SUBSCRIPTIONS_READ,
    ),
    Operation(
        method="GET", path=_PATH + "/{id}", handler=get_subscription, tag=Tag.NOTIFICATIONS,
        summary="Look at a subscription", answer=SubscriptionBody, permission=Permission.SUBSCRIPTIONS_READ,
    ),
    Operation(
        method="PATCH", path=_PATH + "/{id}", handler=change_subscription, tag=Tag.NOTIFICATIONS,
        summary="Change, disable or enable a subscription",
        largest=lambda limits: limits.request_lists, body=SubscriptionPatch, answer=SubscriptionBody,
        permission=Permission.SUBSCRIPTIONS_WRITE, audit_act="subscription.change", reach=Reach.TASKS,
    ),
    Operation(
        method="DELETE", path=_PATH + "/{id}", handler=delete_subscription, tag=Tag.NOTIFICATIONS,
        summary="Forget a subscription", status=204,
        permission=Permission.SUBSCRIPTIONS_WRITE, audit_act="subscription.delete", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path=_PATH + "/{id}/rotate", handler=rotate_subscription, tag=Tag.NOTIFICATIONS,
        summary="Give a subscription a new secret", body=RotateRequest, body_required=False, answer=SecretBody,
        permission=Permission.SUBSCRIPTIONS_WRITE, audit_act="subscription.rotate", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path=_PATH + "/{id}/test", handler=send_test, tag=Tag.NOTIFICATIONS,
        summary="Send a test to a subscription's target", query=TestQuery, answer=DeliveryBody, status=202,
        permission=Permission.SUBSCRIPTIONS_WRITE, audit_act="subscription.test", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/notify/rotate", handler=rotate_notify, tag=Tag.NOTIFICATIONS,
        summary="Make a new secret for the webhooks that tasks and jobs name", body=RotateRequest, body_required=False,
        answer=SecretBody, permission=Permission.SUBSCRIPTIONS_WRITE, audit_act="notify.rotate", reach=Reach.WHOLE,
    ),
)  # fmt: skip
