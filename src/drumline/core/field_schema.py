"""JSON Schema of request fields, written as `Meta` on their types: bounds, patterns, a sentence, examples.

It documents the fields in the OpenAPI document; nothing here is enforced while a request is decoded. The `accept`
functions check requests, and word what they refuse. Whether a field may be null is read from its type.
"""

from typing import Any, Final

from msgspec import Meta, Struct

from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE

Schema = dict[str, Any]

LINE_PATTERN: Final = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
LONGEST_SECONDS: Final = 3_162_240_000
YEAR_SECONDS: Final = 31_622_400
_DURATION: Final = (
    r"^([0-9]{1,9}(\.[0-9]{1,3})?|([0-9]{1,3}(\.[0-9]{1,3})?(ms|[wdhms])){1,4}"
    r"|P([0-9]{1,3}D)?T([0-9]{1,4}H)?([0-9]{1,4}M)?[0-9]{1,4}S)$"
)

NOTE: Final = "schema"
NULL: Final[Schema] = {"type": "null"}
UUID: Final[Schema] = {"type": "string", "format": "uuid"}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
QUEUE: Final[Schema] = {
    "type": "string",
    "maxLength": LONGEST_QUEUE,
    "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:@-]*$",
}
WORKER: Final[Schema] = {"type": "string", "pattern": "^w-[0-9a-f]{16}$"}
WEBHOOK: Final[Schema] = {
    "type": "string",
    "maxLength": 2048,
    "pattern": r"^https?://[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
    r"(:[1-9][0-9]{0,4})?([/?#][!-\[\]-~]*)?$",
    "examples": ["https://example.org/hooks/7"],
}
EMAIL: Final[Schema] = {
    "type": "string",
    "maxLength": 254,
    "pattern": "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$",
    "examples": ["ada@example.org"],
}
PRIORITY: Final[list[Schema]] = [
    {"type": "integer", "minimum": -100, "maximum": 100},
    {"type": "string", "pattern": r"^([+-]?[0-9]{1,2}|critical|high|normal|low)$"},
]


class Configured(Struct, frozen=True):
    """A value that depends on the server: one of its `Limits`, or `longest_wait`; with `text`, a sentence with it."""

    name: str
    text: str | None = None


def about(description: str | Configured | None = None, **schema: Any) -> Meta:
    """Return the note on a field: a sentence, and what its Python type does not say."""
    note = schema if description is None else {**schema, "description": description}
    return Meta(extra={NOTE: note})  # not `extra_json_schema`: msgspec would turn `Configured` into plain JSON


def line_schema(longest: int) -> Schema:
    """Return the schema of one line of text."""
    return {"type": "string", "minLength": 1, "maxLength": longest, "pattern": LINE_PATTERN}


def line(longest: int = LONGEST_NAME, description: str | None = None, **more: Any) -> Meta:
    """Return the note on a field that takes one line of text."""
    return about(description, **line_schema(longest), **more)


def duration(description: str, *, least: float = 0) -> Meta:
    """Return the note on a field that takes a duration."""
    return about(
        description + ' Seconds, or text such as "1h30m" or "PT1H30M".',
        anyOf=duration_schemas(least),
        examples=[1.5, "1h30m"],
    )


def duration_schemas(least: float = 0) -> list[Schema]:
    """Return the two forms of a duration: seconds, and text."""
    return [
        {"type": "number", "minimum": least, "maximum": LONGEST_SECONDS},
        {"type": "string", "pattern": _DURATION},
    ]


def moment(description: str) -> Meta:
    """Return the note on a field that takes a time."""
    return about(description, anyOf=[TIME], examples=["2030-01-02T03:04:05Z"])


def page_cursor(**form: Any) -> Meta:
    """Return the note on the cursor of a list."""
    return about("`next_cursor` of the page before.", type="string", **form)


def given(field: str) -> Schema:
    """Return the schema of an object that has a field, and not null in it."""
    return {"required": [field], "properties": {field: {"not": NULL}}}


PAGE_SIZE: Final = about("Items in one page.", maximum=Configured("page"))
WAIT: Final[Schema] = {"minimum": 0, "maximum": Configured("longest_wait")}
SEVERAL: Final = about("Repeat it, or separate by commas, for several.")
ONE_TIME: Final[Schema] = {"not": {"allOf": [given("delay"), given("run_at")]}}
ONE_KEY: Final[Schema] = {"not": {"allOf": [given("idempotency_key"), given("idempotencyKey")]}}
