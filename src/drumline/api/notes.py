"""What the Python types of requests cannot say: ranges, patterns, and a sentence on each field."""

from msgspec import UNSET

from drumline.api.access_notes import SECRET_NAME, TENANT, access_notes
from drumline.api.operation import Info
from drumline.api.schema import Schema
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE, LONGEST_TAG, MOST_TAGS
from drumline.core.retry import MOST_RETRIES
from drumline.core.task import MOST_TARGETS

_LINE = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
_LONGEST_SECONDS = 3_162_240_000
_DURATION = (
    r"^([0-9]{1,9}(\.[0-9]{1,3})?|([0-9]{1,3}(\.[0-9]{1,3})?(ms|[wdhms])){1,4}"
    r"|P([0-9]{1,3}D)?T([0-9]{1,4}H)?([0-9]{1,4}M)?[0-9]{1,4}S)$"
)
NUMBER_OR_NAME: list[Schema] = [
    {"type": "integer", "minimum": -100, "maximum": 100},
    {"type": "string", "pattern": r"^([+-]?[0-9]{1,2}|critical|high|normal|low)$"},
]
_YEAR = 31_622_400
WEBHOOK: Schema = {
    "type": "string",
    "maxLength": 2048,
    "pattern": r"^https?://[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
    r"(:[1-9][0-9]{0,4})?([/?#][!-\[\]-~]*)?$",
    "examples": ["https://example.org/hooks/7"],
}
EMAIL: Schema = {
    "type": "string",
    "maxLength": 254,
    "pattern": "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$",
    "examples": ["ada@example.org"],
}


_QUEUE: Schema = {"type": "string", "maxLength": LONGEST_QUEUE, "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:@-]*$"}


def line(longest: int, **more: object) -> Schema:
    """Return the schema of a line of text."""
    return {"type": "string", "minLength": 1, "maxLength": longest, "pattern": _LINE, **more}


def duration(description: str, *, least: float = 0) -> Schema:
    """Return the schema of a duration that may be absent."""
    return {
        "anyOf": [
            {"type": "number", "minimum": least, "maximum": _LONGEST_SECONDS},
            {"type": "string", "pattern": _DURATION},
            {"type": "null"},
        ],
        "description": description + ' Seconds, or text such as "1h30m" or "PT1H30M".',
        "examples": [1.5, "1h30m"],
    }


def moment(description: str) -> Schema:
    """Return the schema of a time that may be absent."""
    return {
        "anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}],
        "description": description,
        "examples": ["2030-01-02T03:04:05Z"],
    }


def _key() -> Schema:
    return {
        "anyOf": [line(LONGEST_NAME), {"type": "null"}],
        "description": "Submitted twice under one key, a task is stored once; another body under it is refused.",
    }


def given(field: str) -> Schema:
    """Return the schema of an object that has a field, and not null in it."""
    return {"required": [field], "properties": {field: {"not": {"type": "null"}}}}


def notes(limits: Limits, info: Info) -> dict[str, Schema]:
    """Return the notes for a server with these limits."""
    wait = {"minimum": 0, "maximum": info.longest_wait}
    priority = {
        "anyOf": NUMBER_OR_NAME,
        "default": 0,
        "description": "From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting.",
    }
    word: Schema = {"maxLength": LONGEST_NAME, "pattern": f"^$|{_LINE}"}
    one_time: Schema = {"not": {"allOf": [given("delay"), given("run_at")]}}
    one_key: Schema = {"not": {"allOf": [given("idempotency_key"), given("idempotencyKey")]}}
    return {
        "TaskRequest.name": line(LONGEST_NAME, description="What kind of task it is; workers say which they run."),
        "FlowRequest.name": line(LONGEST_NAME, description="The same as type.", default=UNSET),
        "FlowRequest.type": line(LONGEST_NAME, description="What kind of task it is; the same as name.", default=UNSET),
        "FlowRequest": {"oneOf": [{"required": ["type"]}, {"required": ["name"]}], "allOf": [one_time, one_key]},
        "TaskRequest": {"allOf": [one_time, one_key]},
        "TaskRequest.payload": {"description": f"Any JSON, at most {limits.payload:,} bytes."},
        "TaskRequest.queue": {
            "anyOf": [
                _QUEUE,
                {"type": "null"},
            ],
            "description": "The queue that workers take it from; unless said, as the task's code declares, or default.",
        },
        "TaskRequest.priority": {**priority, "anyOf": [*NUMBER_OR_NAME, {"type": "null"}]},
        "TaskRequest.delay": duration("Run it so much later than now; not together with run_at."),
        "TaskRequest.run_at": moment("Run it at this time; not together with delay."),
        "TaskRequest.retries": {
            "anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST_RETRIES}, {"type": "null"}],
            "description": "How often to try again after a failure; unless said, as the task's code declares, or as "
            "the installation is set to: 3.",
        },
        "TaskRequest.backoff": {
            "anyOf": [
                {"$ref": "#/components/schemas/Backoff"},
                {"type": "number", "minimum": 0, "maximum": _YEAR},
                {"type": "null"},
            ],
            "description": "How long to wait before each retry; a number is the base of the default 2, 4, 8 s.",
        },
        "TaskRequest.timeout": duration(
            "Stop an attempt that takes longer; unless said, than the task's code declares.", least=0.001
        ),
        "TaskRequest.idempotency_key": _key(),
        "TaskRequest.idempotencyKey": {**_key(), "description": "The same as idempotency_key."},
        "TaskRequest.tags": {
            "anyOf": [
                {"type": "array", "items": line(LONGEST_TAG), "maxItems": MOST_TAGS},
                {"type": "null"},
            ],
            "description": "Words to find it by; unless said, those that the task's code declares.",
        },
        "TaskRequest.limit_key": {
            "anyOf": [line(LONGEST_NAME), {"type": "null"}],
            "description": "Whose limit it counts to, where a limit has keys.",
        },
        "TaskRequest.notify": {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/components/schemas/NotifyTarget"}, "maxItems": MOST_TARGETS},
                {"type": "null"},
            ],
            "description": "Whom to tell when it ends.",
        },
        "NotifyTarget.on": {
            "minItems": 1,
            "description": "The outcomes that are told of. Without it `completed` and `failed`.",
        },
        "NotifyTarget": {
            "oneOf": [
                {"required": ["webhook"], "properties": {"webhook": WEBHOOK, "email": {"type": "null"}}},
                {"required": ["email"], "properties": {"email": EMAIL, "webhook": {"type": "null"}}},
            ]
        },
        "Backoff.base": {"minimum": 0, "maximum": _YEAR},
        "Backoff.factor": {"minimum": 1, "maximum": 100},
        "Backoff.cap": {"minimum": 0, "maximum": _YEAR},
        "Backoff.jitter": {"minimum": 0, "maximum": 1},
        "BatchRequest.tasks": {
            "items": {"$ref": "#/components/schemas/TaskRequest"},
            "maxItems": limits.batch,
            "description": "The tasks; an item that is not valid is answered with its problem.",
        },
        "RescheduleRequest": {"anyOf": [given(name) for name in ("run_at", "delay", "priority")], **one_time},
        "RescheduleRequest.priority": {"anyOf": [*NUMBER_OR_NAME, {"type": "null"}]},
        "RescheduleRequest.delay": duration("Run it so much later than now; not together with run_at."),
        "RescheduleRequest.run_at": moment("Run it at this time; not together with delay."),
        "ScheduleTaskRequest.task_name": line(LONGEST_NAME),
        "ScheduleTaskRequest.priority": {**priority, "anyOf": [*NUMBER_OR_NAME, {"type": "null"}]},
        "PauseRequest.reason": {"anyOf": [line(500), {"type": "null"}]},
        "ListQuery.limit": {"maximum": limits.page, "description": "Items in one page."},
        "ListQuery.cursor": {"type": "string", "format": "uuid", "description": "`next_cursor` of the page before."},
        "ListQuery.status": {"description": "Repeat it, or separate by commas, for several."},
        "QueuesQuery.cursor": {
            "type": "string",
            "pattern": "^[a-z0-9][a-z0-9_.-]{0,62}/[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$",
            "description": "`next_cursor` of the page before.",
        },
        "StatsQuery.queue": _QUEUE,
        "StatsQuery.name": line(LONGEST_NAME),
        **_which("ListQuery"),
        **_which("TaskQuery"),
        "ListQuery.payload": {"description": "Whether to include payloads."},
        "ListQuery.traceback": {"description": "Whether errors come with their tracebacks."},
        "GetQuery.wait": {**wait, "description": "Seconds to wait for it to end."},
        "ClaimRequestBody.wait": {**wait, "description": "Seconds to wait for the first task."},
        "LogQuery.attempt": {"type": "integer", "minimum": 1, "description": "Only this attempt's log."},
        "LogQuery.follow": {"description": "Go on as the log grows, until the task has ended."},
        "CancelQuery.force": {"description": "End a running task now; its worker is shut out."},
        "WorkersQuery.closed": {"description": "List workers that left lately too."},
        "OpenRequest.queues": {"items": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:@-]*$"}},
        "TaskType.name": line(LONGEST_NAME),
        **_type_defaults(),
        "OpenRequest.host": word,
        "OpenRequest.version": word,
        "OpenRequest.label": word,
        **access_notes(limits),
        "ClaimRequestBody": {"anyOf": [{"properties": {"again": {"const": False}}}, given("claim_id")]},
    }


def _type_defaults() -> dict[str, Schema]:
    """Return the notes on what a worker declares about a type."""
    nothing: Schema = {"type": "null"}
    return {
        "TypeDefaults.queue": {
            "anyOf": [
                _QUEUE,
                nothing,
            ]
        },
        "TypeDefaults.priority": {"anyOf": [{"type": "integer", "minimum": -100, "maximum": 100}, nothing]},
        "TypeDefaults.retries": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST_RETRIES}, nothing]},
        "TypeDefaults.timeout": {"anyOf": [{"type": "number", "minimum": 0.001, "maximum": _LONGEST_SECONDS}, nothing]},
        "TypeDefaults.tags": {"anyOf": [{"type": "array", "items": line(LONGEST_TAG), "maxItems": MOST_TAGS}, nothing]},
    }


PATH_PARAMETERS: dict[str, Schema] = {
    "id": {"type": "string", "format": "uuid"},
    "task_id": {"type": "string", "format": "uuid"},
    "task": {"type": "string", "format": "uuid"},
    "session": {"type": "string", "pattern": "^w-[0-9a-f]{16}$"},
    "worker": {"type": "string", "pattern": "^w-[0-9a-f]{16}$"},
    "queue": _QUEUE,
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": r"^[A-Za-z0-9 _.+-]*[A-Za-z0-9_+-][A-Za-z0-9 _.+-]*$",
    },
    "code": {"type": "string"},
    "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    "tenant": TENANT,
    "secret": SECRET_NAME,
}
"""What stands in the braces of a path, by its name."""


def _which(struct: str) -> dict[str, Schema]:
    """Return the notes on the fields that say which tasks are meant."""
    return {
        f"{struct}.queue": _QUEUE,
        f"{struct}.name": line(LONGEST_NAME),
        f"{struct}.tag": line(LONGEST_TAG),
        f"{struct}.idempotency_key": line(LONGEST_NAME),
        f"{struct}.worker": {"type": "string", "pattern": "^w-[0-9a-f]{16}$"},
        f"{struct}.job": {"type": "string", "format": "uuid", "description": "Only the tasks of this job."},
        f"{struct}.finished_since": {
            "type": "string",
            "format": "date-time",
            "description": "Only tasks that ended at this time or later, and were not run again.",
        },
    }
