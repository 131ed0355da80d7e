"""The reference of events: a page for people, and a JSON Schema for programs."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct

from drumline.core.dead_letter import AttemptMessage, DeadLetterMessage
from drumline.core.event import SCHEMA, CloudEvent, TaskChange
from drumline.core.event_types import DEAD_LETTERS, FACTS, TASK_CHANGES
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status

INTRODUCTION = """\
# Events

<!-- Made by `make reference` from event.py, event_types.py and dead_letter_message.py in src/drumline/core. -->

Everything that changes is an event, written in the transaction that makes the change. Events are
[CloudEvents 1.0](https://cloudevents.io) in JSON, the same on the stream (`GET /api/v1/events`), on Kafka and in
webhooks. What is promised of them stands in [Events](../explanation/events.md), how to use them in
[How to follow events](../how-to/events.md).

Fields without a value are left out. Fields and types may be added; what is there keeps its meaning for as long as
`dataschema` names the same version. The JSON Schema is [event-1.json](../schemas/event-1.json).

```json
{example}
```
"""

EXAMPLE = CloudEvent(
    id="5f0c9a1e-1042-3",
    source="/drumline",
    type="drumline.task.retried",
    time="2026-01-02T03:04:06.078Z",
    subject="019b7c3e-5d10-7abc-8def-0123456789ab",
    tenant="default",
    sequence="000000000000001042-000003",
    data=TaskChange(
        id="019b7c3e-5d10-7abc-8def-0123456789ab",  # type: ignore[arg-type]
        status=Status.PENDING,
        name="charge",
        queue="default",
        tags=("shop",),
        attempt=1,
        worker="w-00c0ffee00c0ffee",
        created_at="2026-01-02T03:04:05.000Z",
        due_at="2026-01-02T03:04:08.078Z",
        started_at="2026-01-02T03:04:05.678Z",
        finished_at="2026-01-02T03:04:06.078Z",
        duration=0.4,
        error=ErrorInfo("TimeoutError", "the bank did not answer"),
        log="charging order 7",
    ),
)

FieldDocs = Callable[[type[Struct]], Iterator[tuple[str, str]]]
"""Yields the docstring of every field of a struct."""


def events_page(field_docs: FieldDocs) -> str:
    """Return the reference of all events."""
    example = json.dumps(msgspec.to_builtins(EXAMPLE), indent=2)
    parts = [
        INTRODUCTION.replace("{example}", example),
        _types("Changes of tasks", "Their data is described below.", TASK_CHANGES),
        _types("Changes of everything else", "Their data says what is worth telling: the name, the state …", FACTS),
        _types("Dead letters", "Sent to Kafka, on a topic of their own.", DEAD_LETTERS),
        _fields("The envelope", CloudEvent, field_docs),
        _fields("The data of a task's change", TaskChange, field_docs),
        _fields("The data of a dead letter", DeadLetterMessage, field_docs),
        _fields("An execution in a dead letter", AttemptMessage, field_docs),
    ]
    return "\n".join(parts)


def event_schema() -> str:
    """Return the JSON Schema of an event, whatever its type."""
    (envelope, *_), definitions = msgspec.json.schema_components(
        (CloudEvent, TaskChange, DeadLetterMessage), ref_template="#/$defs/{name}"
    )
    known = (
        (sorted(TASK_CHANGES), "TaskChange"),
        (sorted(DEAD_LETTERS), "DeadLetterMessage"),
    )
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "An event of Drumline",
        **envelope,
        "allOf": [
            {
                "if": {"properties": {"type": {"enum": types}}, "required": ["type"]},
                "then": {"properties": {"data": {"$ref": f"#/$defs/{name}"}}},
                "else": {"properties": {"data": {"type": "object"}}},
            }
            for types, name in known
        ],
        "$defs": definitions,
    }
    return json.dumps(schema, indent=2) + "\n"


def _types(title: str, text: str, types: Mapping[str, str]) -> str:
    rows = "\n".join(f"| `{type_}` | {meaning} |" for type_, meaning in types.items())
    return f"## {title}\n\n{text}\n\n| type | meaning |\n|---|---|\n{rows}\n"


def _fields(title: str, struct: type[Struct], field_docs: FieldDocs) -> str:
    docs = dict(field_docs(struct))
    rows = "\n".join(
        f"| `{info.name}` | {_word(info.type)} | {docs[info.name]} |" for info in msgspec.structs.fields(struct)
    )
    return f"## {title}\n\n| field | type | meaning |\n|---|---|---|\n{rows}\n"


def _word(type_: Any) -> str:
    parts = [part for part in get_args(type_) if part not in {type(None), ...}]
    if type_ is Any or type_ is dict or msgspec.Raw in {type_, *parts}:
        return "any JSON"
    if getattr(type_, "__origin__", None) is tuple:
        return f"list of {_word(parts[0])}"
    if parts:
        return _word(parts[0])
    if isinstance(type_, type) and issubclass(type_, Struct):
        return "object"
    return {int: "whole number", float: "number"}.get(type_, "text")
