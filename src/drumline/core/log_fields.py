"""The fields of a log record beside its message: those given by `extra=`, and those of our own events."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from drumline.core.masking import MASK, masked

FACTS: Final = "drumline_facts"
"""The name under which Drumline's own records carry the fields of an event."""
MOST_EXTRAS: Final = 100
LONGEST_EXTRA: Final = 8 * 1024
DEEPEST: Final = 5

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", FACTS}


def extra_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return what a logging call gave as `extra=`, as JSON can say it and without secrets; never raises."""
    given = [(str(name), value) for name, value in vars(record).items() if name not in _STANDARD]
    return {masked(name): _plain(value, DEEPEST) for name, value in given[:MOST_EXTRAS] if not name.startswith("_")}


def facts_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the fields of an event of ours; none for a record of others."""
    facts = getattr(record, FACTS, None)
    return facts if isinstance(facts, dict) else {}


def _plain(value: Any, deepest: int) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if masked(_text(value)) != MASK else MASK
    if deepest and isinstance(value, Mapping):
        return {masked(_text(name)): _plain(each, deepest - 1) for name, each in list(value.items())[:MOST_EXTRAS]}
    if deepest and isinstance(value, list | tuple):
        return [_plain(each, deepest - 1) for each in value[:MOST_EXTRAS]]
    return masked(_text(value)[:LONGEST_EXTRA])


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - the value's own __str__ is user code
        return f"({type(value).__name__} that cannot be shown: {type(error).__name__})"
