"""What the Python types of failures and bulk operations cannot say of requests."""

from drumline.api.notes import NUMBER_OR_NAME, duration, given, line, moment
from drumline.api.schema import Schema
from drumline.core.bulk import FASTEST, LONGEST_REASON, SLOWEST
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE, LONGEST_TAG

_NULL: Schema = {"type": "null"}
_UUID: Schema = {"type": "string", "format": "uuid"}
_FIELDS: dict[str, Schema] = {
    "queue": {"type": "string", "maxLength": LONGEST_QUEUE, "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:@-]*$"},
    "name": line(LONGEST_NAME),
    "tag": line(LONGEST_TAG),
    "fingerprint": line(LONGEST_NAME, description="Failures of one cause share it."),
    "kind": line(LONGEST_NAME, description="The class of the error."),
    "job": _UUID,
    "worker": {"type": "string", "pattern": "^w-[0-9a-f]{16}$"},
    "idempotency_key": line(LONGEST_NAME),
}
_ONE_CHOICE: Schema = {
    "oneOf": [
        {"required": ["ids"], "properties": {"ids": {"minItems": 1}}},
        given("filter"),
        {"required": ["all"], "properties": {"all": {"const": True}}},
    ]
}
_CURSORS: dict[str, Schema] = {
    "FailuresQuery": {"pattern": "^[0-9]{1,18}[.][0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    "GroupsQuery": {"pattern": "^[0-9]{1,18}[.][0-9a-f]{12}$"},
    "BulkQuery": {"format": "uuid"},
    "ItemsQuery": {"pattern": "^[0-9]{1,9}$"},
}
_SHARED: dict[str, Schema] = {
    "all": {"description": "Mean everything there is."},
    "rate": {
        "anyOf": [{"type": "number", "minimum": SLOWEST, "maximum": FASTEST}, _NULL],
        "description": "Tasks per second, at most; as fast as it goes when absent.",
    },
    "reason": {"anyOf": [line(LONGEST_REASON), _NULL], "description": "Why, for those who will wonder."},
    "dry_run": {"description": "Change nothing; tell what would be done."},
}


def bulk_notes(limits: Limits) -> dict[str, Schema]:
    """Return the notes for a server with these limits."""
    cursor: Schema = {"type": "string", "description": "`next_cursor` of the page before."}
    limit: Schema = {"maximum": limits.page, "description": "Items in one page."}
    many: Schema = {"description": "Repeat it, or separate by commas, for several."}
    shared = {**_SHARED, "ids": {"items": _UUID, "maxItems": limits.batch, "description": "Tasks, one by one."}}
    return {
        **{f"BulkFilter.{name}": {"anyOf": [schema, _NULL]} for name, schema in _FIELDS.items()},
        "BulkFilter.since": moment("Failed at this time or later."),
        "BulkFilter.until": moment("Failed before this time."),
        "BulkFilter.status": {"description": "Means tasks that stand so, and not failures."},
        "BulkRequest": _ONE_CHOICE,
        "ManyRequest": _ONE_CHOICE,
        **{f"{struct}.{name}": schema for struct in ("BulkRequest", "ManyRequest") for name, schema in shared.items()},
        "BulkRequest.force": {"description": "For cancel: end running tasks now, whatever their worker does."},
        "BulkRequest.run_at": moment("For reschedule: when to run."),
        "BulkRequest.delay": duration("For reschedule: how far from now to run."),
        "BulkRequest.priority": {"anyOf": [*NUMBER_OR_NAME, _NULL], "description": "For reschedule."},
        "PurgeRequest.older_than": {"anyOf": [choice for choice in duration("")["anyOf"] if choice != _NULL]},
        "PurgeRequest.reason": shared["reason"],
        "PurgeRequest.dry_run": shared["dry_run"],
        **{f"{struct}.limit": limit for struct in _CURSORS},
        **{f"{struct}.cursor": {**cursor, **form} for struct, form in _CURSORS.items()},
        **{f"FailuresQuery.{name}": schema for name, schema in _FIELDS.items()},
        **{f"GroupsQuery.{name}": _FIELDS[name] for name in ("queue", "name", "kind")},
        "FailuresQuery.since": {"type": "string", "format": "date-time", "description": "Failed then or later."},
        "FailuresQuery.until": {"type": "string", "format": "date-time", "description": "Failed before that."},
        "GroupsQuery.sort": {"description": "What comes first: what was seen last, or what there is most of."},
        "BulkQuery.state": many,
        "ItemsQuery.outcome": many,
    }
