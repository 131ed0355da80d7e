"""Accepting a subscription, and changes of one: everything is checked before anything is stored."""

from collections.abc import Callable
from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Struct, UnsetType

from drumline.core.errors import Invalid
from drumline.core.field_schema import EMAIL, NULL, QUEUE, WEBHOOK, Schema, about, line
from drumline.core.names import LONGEST_TAG, check_name
from drumline.core.signing import SigningSecret, check_secret
from drumline.core.subscription import (
    DEFAULT_EVENTS,
    MOST_EVENTS,
    EventFilter,
    NewSubscription,
    Subscription,
    SubscriptionChange,
    SubscriptionId,
    check_filter,
)
from drumline.core.target import TargetKind, check_email, check_webhook, target_of

_TYPE: Final[Schema] = {
    "type": "string",
    "pattern": r"^(drumline\.)?(task\.(completed|failed|cancelled|skipped|\*)"
    r"|(job|schedule|worker|queue|alert)\.([a-z_]{1,40}|\*))$",
    "examples": ["task.failed", "drumline.job.*"],
}
_EVENTS: Final = about(
    "Which events: the ends of tasks, and all that happens to jobs, schedules, workers, queues and alerts.",
    items=_TYPE,
    minItems=1,
    maxItems=MOST_EVENTS,
)
_SECRET: Final[list[Schema]] = [
    {"type": "string", "pattern": "^whsec_([A-Za-z0-9+/]{4}){8,21}$", "examples": ["whsec_" + "A" * 44]}
]


class SubscriptionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request for a subscription: a filter of events, and one target.

    A webhook gets a secret to sign with, unless the caller brings one along.
    """

    SCHEMA: ClassVar[Schema] = {
        "oneOf": [
            {"required": ["webhook"], "properties": {"webhook": WEBHOOK, "email": NULL}},
            {"required": ["email"], "properties": {"email": EMAIL, "webhook": NULL, "secret": NULL}},
        ]
    }

    name: Annotated[str, line(description="What people call it; one of a name.")]
    events: Annotated[tuple[str, ...], _EVENTS] = DEFAULT_EVENTS
    task: Annotated[str | None, line(description="Only of tasks with this name.")] = None
    queue: Annotated[str | None, about("Only of tasks in this queue.", **QUEUE)] = None
    job: Annotated[str | None, line(description="Only of this job, by id or name, or of its tasks, by id.")] = None
    tag: Annotated[str | None, line(LONGEST_TAG, "Only of tasks and jobs with this tag.")] = None
    webhook: str | None = None
    email: str | None = None
    secret: Annotated[
        str | None, about("For webhooks: a secret of your own; leave it out to get one.", anyOf=_SECRET)
    ] = None


class SubscriptionPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changes to a subscription: absent fields stay, and null removes a filter."""

    SCHEMA: ClassVar[Schema] = {"minProperties": 1}

    name: Annotated[str | UnsetType, line()] = UNSET
    events: Annotated[tuple[str, ...] | UnsetType, _EVENTS] = UNSET
    task: Annotated[str | UnsetType | None, line(description="Only of tasks with this name.")] = UNSET
    queue: Annotated[str | UnsetType | None, about("Only of tasks in this queue.", **QUEUE)] = UNSET
    job: Annotated[
        str | UnsetType | None, line(description="Only of this job, by id or name, or of its tasks, by id.")
    ] = UNSET
    tag: Annotated[str | UnsetType | None, line(LONGEST_TAG, "Only of tasks and jobs with this tag.")] = UNSET
    webhook: Annotated[str | UnsetType, about(**WEBHOOK)] = UNSET
    email: Annotated[str | UnsetType, about(**EMAIL)] = UNSET
    enabled: bool | UnsetType = UNSET
    reason: Annotated[str | UnsetType | None, line(description="Why it is disabled, for those who will wonder.")] = (
        UNSET
    )


def accept_subscription(
    request: SubscriptionRequest, *, id: SubscriptionId, tenant: str, new_secret: Callable[[], str]
) -> NewSubscription:
    """Return the request as a subscription that can be stored, or raise `Invalid` naming the field at fault."""
    target = target_of(request.webhook, request.email)
    if request.secret is not None and target.channel is not TargetKind.WEBHOOK:
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
        secrets=(SigningSecret(secret),) if target.channel is TargetKind.WEBHOOK else (),
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
    is_webhook = old.target.channel is TargetKind.WEBHOOK
    wrong = patch.email if is_webhook else patch.webhook
    if wrong is not UNSET:
        other = "webhook" if is_webhook else "mail address"
        raise Invalid(f"cannot be given: this subscription has a {other}", field="email" if is_webhook else "webhook")
    if patch.webhook is not UNSET:
        return check_webhook(patch.webhook, field="webhook")
    return None if patch.email is UNSET else check_email(patch.email, field="email")
