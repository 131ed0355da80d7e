"""Accepting a subscription, and changes of one: everything is checked before anything is stored."""

from collections.abc import Callable

from msgspec import UNSET, Struct, UnsetType

from drumline.core.errors import Invalid
from drumline.core.names import check_name
from drumline.core.signing import Secret, check_secret
from drumline.core.subscription import (
    DEFAULT_EVENTS,
    EventFilter,
    NewSubscription,
    Subscription,
    SubscriptionChange,
    SubscriptionId,
    check_filter,
)
from drumline.core.target import Channel, check_email, check_webhook, target_of


class SubscriptionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a caller asks for: which events, narrowed by what is given, and one target.

    A webhook gets a secret to sign with, unless the caller brings one along.
    """

    name: str
    events: tuple[str, ...] = DEFAULT_EVENTS
    task: str | None = None
    queue: str | None = None
    job: str | None = None
    tag: str | None = None
    webhook: str | None = None
    email: str | None = None
    secret: str | None = None


class SubscriptionPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to change of a subscription; what is absent stays, and null takes a narrowing away."""

    name: str | UnsetType = UNSET
    events: tuple[str, ...] | UnsetType = UNSET
    task: str | UnsetType | None = UNSET
    queue: str | UnsetType | None = UNSET
    job: str | UnsetType | None = UNSET
    tag: str | UnsetType | None = UNSET
    webhook: str | UnsetType = UNSET
    email: str | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    reason: str | UnsetType | None = UNSET


def accept_subscription(
    request: SubscriptionRequest, *, id: SubscriptionId, tenant: str, new_secret: Callable[[], str]
) -> NewSubscription:
    """Return the request as a subscription that can be stored, or raise `Invalid` naming the field at fault."""
    target = target_of(request.webhook, request.email)
    if request.secret is not None and target.channel is not Channel.WEBHOOK:
        raise Invalid("is for webhooks only", field="secret")
    secret = check_secret(request.secret, field="secret") if request.secret is not None else new_secret()
    wanted = EventFilter(
        events=request.events, task=request.task, queue=request.queue, job=request.job, tag=request.tag
    )
    return NewSubscription(
        id=id,
        tenant=tenant,
        name=check_name(request.name),
        filter=check_filter(wanted),
        target=target,
        secrets=(Secret(secret),) if target.channel is Channel.WEBHOOK else (),
    )


def accept_patch(patch: SubscriptionPatch, old: Subscription) -> SubscriptionChange:
    """Return the patch as a change that can be stored, or raise `Invalid` naming the field at fault."""
    if patch == SubscriptionPatch():
        raise Invalid("must have something to change", field="body")
    narrowings = ("events", "task", "queue", "job", "tag")
    given = {name: value for name in narrowings if (value := getattr(patch, name)) is not UNSET}
    kept = {name: getattr(old.filter, name) for name in narrowings}
    return SubscriptionChange(
        name=None if patch.name is UNSET else check_name(patch.name),
        filter=check_filter(EventFilter(**{**kept, **given})) if given else None,
        address=_new_address(patch, old),
        is_enabled=None if patch.enabled is UNSET else patch.enabled,
        reason=None if patch.reason is UNSET or patch.reason is None else check_name(patch.reason, field="reason"),
    )


def _new_address(patch: SubscriptionPatch, old: Subscription) -> str | None:
    is_webhook = old.target.channel is Channel.WEBHOOK
    wrong = patch.email if is_webhook else patch.webhook
    if wrong is not UNSET:
        other = "webhook" if is_webhook else "email"
        raise Invalid(f"cannot be given: this subscription has a {other}", field="email" if is_webhook else "webhook")
    if patch.webhook is not UNSET:
        return check_webhook(patch.webhook, field="webhook")
    return None if patch.email is UNSET else check_email(patch.email, field="email")
