"""Log events under the names of the Elastic Common Schema, so that whatever reads logs knows what is what.

What the schema has no name for stands under `drumline`. deploy/elk has the index template for it.
"""

import re
from collections.abc import MutableMapping
from typing import Any, Final

from drumline._version import __version__
from drumline.core.current_attempt import CURRENT_ATTEMPT
from drumline.core.trace import CURRENT_TRACE, ids_of

ECS_VERSION: Final = "8.11.0"
NAMES: Final = {
    "timestamp": "@timestamp",
    "level": "log.level",
    "event": "message",
    "logger": "log.logger",
    "error": "error.message",
    "exception": "error.stack_trace",
    "trace_id": "trace.id",
    "span_id": "span.id",
}
"""What our fields are called there."""
OUTCOMES: Final = {"task.completed": "success", "task.failed": "failure"}
_ACTION: Final = re.compile(r"([a-z_]+(?:\.[a-z_]+)+)(?::.*)?", re.DOTALL)
_TYPE: Final = re.compile(r"\n([A-Za-z_][A-Za-z0-9_.]*)(?:: [^\n]*)?\s*$")

Fields = MutableMapping[str, Any]


def add_context(_logger: object, _method: str, event: Fields) -> Fields:
    """Add the fields of the attempt and the trace in which the line was written."""
    attempt = CURRENT_ATTEMPT.get()
    if attempt is not None:
        for name, value in attempt.facts().items():
            event.setdefault(name, value)
    if (trace := CURRENT_TRACE.get()) is not None:
        event["trace_id"], event["span_id"] = ids_of(trace)
    return event


def to_ecs(_logger: object, _method: str, event: Fields) -> Fields:
    """Give an event the names of the schema."""
    named: dict[str, Any] = {NAMES[name]: event.pop(name) for name in NAMES if name in event}
    named |= {
        "ecs.version": ECS_VERSION,
        "event.dataset": "drumline",
        "service.name": "drumline",
        "service.version": __version__,
    }
    if found := _ACTION.fullmatch(str(named["message"])):
        named["event.action"] = found[1]
    if (outcome := OUTCOMES.get(named.get("event.action", ""))) is not None:
        named["event.outcome"] = outcome
    if isinstance(seconds := event.get("seconds"), int | float):
        named["event.duration"] = round(seconds * 1_000_000_000)
    if found := _TYPE.search(str(named.get("error.stack_trace", ""))):
        named["error.type"] = found[1]
    return named | ({"drumline": dict(event)} if event else {})
