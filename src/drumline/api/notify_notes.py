"""What the Python types of subscriptions and deliveries cannot say of requests."""

from drumline.api.notes import EMAIL, WEBHOOK, duration, line
from drumline.api.operation import Info
from drumline.api.schema import Schema
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE, LONGEST_TAG
from drumline.core.subscription import MOST_EVENTS

_NULL: Schema = {"type": "null"}
_UUID: Schema = {"type": "string", "format": "uuid"}
_TYPE: Schema = {
    "type": "string",
    "pattern": r"^(drumline\.)?(task\.(completed|failed|cancelled|skipped|\*)"
    r"|(job|schedule|worker|queue)\.([a-z_]{1,40}|\*))$",
    "examples": ["task.failed", "drumline.job.*"],
}
_QUEUE: Schema = {"type": "string", "maxLength": LONGEST_QUEUE, "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:@-]*$"}
_NARROWINGS: dict[str, Schema] = {
    "task": {"anyOf": [line(LONGEST_NAME), _NULL], "description": "Only of tasks with this name."},
    "queue": {"anyOf": [_QUEUE, _NULL], "description": "Only of tasks in this queue."},
    "job": {
        "anyOf": [line(LONGEST_NAME), _NULL],
        "description": "Only of this job, by id or name, or of its tasks, by id.",
    },
    "tag": {"anyOf": [line(LONGEST_TAG), _NULL], "description": "Only of tasks and jobs with this tag."},
}
_EVENTS: Schema = {
    "items": _TYPE,
    "minItems": 1,
    "maxItems": MOST_EVENTS,
    "description": "Which events: the ends of tasks, and all that happens to jobs, schedules, workers and queues.",
}
_SECRET: Schema = {
    "anyOf": [
        {"type": "string", "pattern": "^whsec_([A-Za-z0-9+/]{4}){8,21}$", "examples": ["whsec_" + "A" * 44]},
        _NULL,
    ],
    "description": "For webhooks: a secret of your own; leave it out to get one.",
}


def notify_notes(limits: Limits, info: Info) -> dict[str, Schema]:
    """Return the notes for a server with these limits."""
    return {
        "SubscriptionRequest": {
            "oneOf": [
                {"required": ["webhook"], "properties": {"webhook": WEBHOOK, "email": _NULL}},
                {"required": ["email"], "properties": {"email": EMAIL, "webhook": _NULL, "secret": _NULL}},
            ]
        },
        "SubscriptionRequest.name": line(LONGEST_NAME, description="What people call it; one of a name."),
        "SubscriptionRequest.events": _EVENTS,
        "SubscriptionRequest.secret": _SECRET,
        "SubscriptionPatch": {"minProperties": 1},
        "SubscriptionPatch.name": line(LONGEST_NAME),
        "SubscriptionPatch.events": _EVENTS,
        "SubscriptionPatch.webhook": WEBHOOK,
        "SubscriptionPatch.email": EMAIL,
        "SubscriptionPatch.reason": {
            "anyOf": [line(LONGEST_NAME), _NULL],
            "description": "Why it is disabled, for those who will wonder.",
        },
        **{
            f"{struct}.{name}": schema
            for struct in ("SubscriptionRequest", "SubscriptionPatch")
            for name, schema in _NARROWINGS.items()
        },
        "RotateRequest.overlap": {
            **duration("How long the old secret signs beside the new one, at most 90 days."),
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 7_776_000},
                {"type": "string", "pattern": "^([0-9]{1,3}(ms|[hms])){1,3}$"},
            ],
        },
        "TestQuery.wait": {
            "minimum": 0,
            "maximum": info.longest_wait,
            "description": "Seconds to wait until a notifier has tried it.",
        },
        "DeliveriesQuery.subscription": _UUID,
        "DeliveriesQuery.subject": line(LONGEST_NAME, description="The id of the task, job … that it is about."),
        "DeliveriesQuery.event_type": line(LONGEST_NAME),
        "DeliveriesQuery.limit": {"maximum": limits.page, "description": "Items in one page."},
        "DeliveriesQuery.cursor": {**_UUID, "description": "`next_cursor` of the page before."},
    }
