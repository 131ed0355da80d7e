"""Which trace something belongs to: a W3C `traceparent`, carried from a request to the task and on to its execution."""

import re
from contextvars import ContextVar
from typing import Final

CURRENT_TRACE: ContextVar[str | None] = ContextVar("drumline trace", default=None)
"""The trace that what is done now belongs to; None while tracing is off."""

CARRIED_TRACE: ContextVar[str | None] = ContextVar("drumline carried trace", default=None)
"""The trace that tasks accepted now carry with them."""

_FORM: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
LONGEST: Final = 128


def read_traceparent(text: str | None) -> str | None:
    """Return the value of a `traceparent` header; None if it does not follow the specification."""
    return text if text and len(text) <= LONGEST and _FORM.fullmatch(text) else None


def ids_of(traceparent: str) -> tuple[str, str]:
    """Return the ids of the trace and of the span in it."""
    _, trace, span, *_ = traceparent.split("-")
    return trace, span
