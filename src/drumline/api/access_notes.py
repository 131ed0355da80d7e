"""What the Python types of requests about keys, tenants and the audit log cannot say."""

from drumline.api.schema import Schema
from drumline.core.access import Permission
from drumline.core.audit import LONGEST_REASON
from drumline.core.duration import LONGEST
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE
from drumline.core.new_key import LONGEST_KEY_NAME, MOST_PATTERNS
from drumline.core.secret import LONGEST_NAME as LONGEST_SECRET_NAME
from drumline.core.secret import LONGEST_VALUE, NAME_PATTERN, SHORTEST_VALUE
from drumline.core.tenant import LONGEST_TENANT, TENANT_PATTERN

LINE = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
_UUID: Schema = {"type": "string", "format": "uuid", "description": "`next_cursor` of the page before."}
_RATE = r"^([1-9][0-9]{0,8}/([1-9][0-9]{0,3}(s|m)?|1h|1d)|unlimited)$"
_WAIT = r"^([1-9][0-9]{0,6}(s|m)?|[1-9][0-9]{0,2}(h|d))$"

ENDS = ("expires_at", "expires_in")

SECRET_NAME: Schema = {"type": "string", "maxLength": LONGEST_SECRET_NAME, "pattern": f"^{NAME_PATTERN}$"}
TENANT: Schema = {"type": "string", "maxLength": LONGEST_TENANT, "pattern": f"^{TENANT_PATTERN}$"}


def _line(longest: int, description: str) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": longest, "pattern": LINE, "description": description}


def _reason() -> Schema:
    described = "Why, for the audit log; the header `X-Reason` does as well."
    return {"anyOf": [_line(LONGEST_REASON, described), {"type": "null"}], "description": described}


def _word(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": 2048, "pattern": LINE, "description": description}


def access_notes(limits: Limits) -> dict[str, Schema]:
    """Return the notes for a server with these limits."""
    page = {"maximum": limits.page, "description": "Items in one page."}
    both_ends = [{"required": [end], "properties": {end: {"not": {"type": "null"}}}} for end in ENDS]
    return {
        "KeyRequest": {"not": {"allOf": both_ends}},
        "KeyRequest.name": _line(LONGEST_KEY_NAME, "What people call it."),
        "KeyRequest.tenant": {
            "anyOf": [TENANT, {"const": "*"}, {"type": "null"}],
            "description": "Whose it is: the caller's own tenant if left out; `*` for every tenant's.",
        },
        "KeyRequest.role": {"description": "What it may do at most."},
        "KeyRequest.scopes": {
            "items": {"enum": [permission.value for permission in Permission]},
            "description": "Permissions of its role that it keeps; none named means all.",
        },
        "KeyRequest.names": {
            "items": _line(LONGEST_NAME, "A task name, in which * stands for anything."),
            "maxItems": MOST_PATTERNS,
            "description": "Names of tasks that it may submit or run; none means all.",
        },
        "KeyRequest.queues": {
            "items": {"type": "string", "maxLength": LONGEST_QUEUE, "pattern": "^[A-Za-z0-9*][A-Za-z0-9_.:@*-]*$"},
            "maxItems": MOST_PATTERNS,
            "description": "Queues that it may submit into or serve; none means all.",
        },
        "KeyRequest.rate_limit": {
            "anyOf": [{"type": "string", "pattern": _RATE}, {"type": "null"}],
            "description": 'How often it may ask, such as "100/60s" or "unlimited"; what its role may if left out.',
        },
        "KeyRequest.expires_at": {
            "anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}],
            "description": "When it stops opening anything; not together with expires_in.",
        },
        "KeyRequest.expires_in": {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": int(LONGEST.total_seconds())},
                {"type": "string", "pattern": _WAIT},
                {"type": "null"},
            ],
            "description": "The same, counted from now.",
        },
        "RotateKeyRequest.overlap": {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 2_592_000},
                {"type": "string", "pattern": "^([0-9]{1,6}s?|[0-9]{1,4}m|[0-9]{1,2}h|[12]?[0-9]d)$"},
            ],
            "description": "How long the old key opens beside the new one, at most 30 days.",
        },
        "RotateKeyRequest.reason": _reason(),
        "ReasonRequest.reason": _reason(),
        "SecretRequest.value": {
            "description": f"What it is: {SHORTEST_VALUE} to {LONGEST_VALUE:,} bytes of text. It is not told again.",
        },
        "SecretRequest.reason": _reason(),
        "SecretsQuery.limit": page,
        "SecretsQuery.cursor": {
            "type": "string",
            "pattern": f"^{TENANT_PATTERN}/{NAME_PATTERN}$",
            "description": "`next_cursor` of the page before.",
        },
        "TenantRequest.name": TENANT | {"description": "Lower-case letters, digits and _ . -"},
        "TenantChange.reason": _reason(),
        "KeysQuery.limit": page,
        "KeysQuery.cursor": _UUID,
        "TenantsQuery.limit": page,
        "TenantsQuery.cursor": TENANT | {"description": "`next_cursor` of the page before."},
        "ConfigChange.reason": _reason(),
        "HistoryQuery.limit": page,
        "HistoryQuery.cursor": {
            "type": "string",
            "pattern": "^[0-9]{1,18}$",
            "description": "`next_cursor` of the page before.",
        },
        "AuditQuery.limit": page,
        "AuditQuery.cursor": _UUID,
        "AuditQuery.act": _word("Only this act, such as `queue.pause`."),
        "AuditQuery.key": _word("Only what was done with this key, by its id."),
        "AuditQuery.target": _word("Only what was about this path."),
        "AuditQuery.since": {"type": "string", "format": "date-time", "description": "Only from this time on."},
        "AuditQuery.until": {"type": "string", "format": "date-time", "description": "Only before this time."},
        "AuditQuery.all": {"description": "List what was asked even where its answer is listed too."},
        "VerifyQuery.expect": {
            "type": "string",
            "pattern": "^[0-9]{1,18}:[0-9a-f]{64}$",
            "description": "A head that was kept elsewhere; the caller's own chain must have passed through it.",
        },
    }
