"""How arguments and results are written as JSON: plain values as they are, some others with their type.

A dictionary with one of these reserved keys is written as a list of pairs, so that data never passes for a type, a
signature's own dictionary, or a replaced task.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from drumline.sdk.placeholder import Placeholder

TYPE: Final = "$type"
VALUE: Final = "value"
REPLACED: Final = "$replaced"
"""The key of what a replaced task gives back: the ids of the tasks whose results stand for its own."""
_RESERVED: Final = frozenset({TYPE, REPLACED})

_WRITERS: Final[Mapping[type, tuple[str, Callable[[Any], Any]]]] = {
    datetime: ("datetime", datetime.isoformat),
    date: ("date", date.isoformat),
    time: ("time", time.isoformat),
    timedelta: ("timedelta", timedelta.total_seconds),
    UUID: ("uuid", str),
    Decimal: ("decimal", str),
    bytes: ("bytes", bytes.hex),
}
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda seconds: timedelta(seconds=seconds),
    "uuid": UUID,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "dict": lambda pairs: dict(map(tuple, pairs)),
}


def to_wire(value: Any) -> Any:
    """Return a value as JSON can hold it; what it cannot hold is left for the encoder to refuse."""
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, list | tuple | set | frozenset) or _is_iterator(value):
        return [to_wire(each) for each in value]
    writer = _WRITERS.get(type(value))
    if writer is not None:
        return {TYPE: writer[0], VALUE: writer[1](value)}
    return _other(value)


def from_wire(value: Any) -> Any:
    """Return what `to_wire` was given; tuples and sets have become lists."""
    if isinstance(value, list):
        return [from_wire(each) for each in value]
    if not isinstance(value, dict):
        return value
    if TYPE in value:
        inner = value.get(VALUE)
        return _READERS[value[TYPE]](from_wire(inner) if value[TYPE] == "dict" else inner)
    return {name: from_wire(each) for name, each in value.items()}


def _mapping(value: Mapping[Any, Any]) -> Any:
    if _RESERVED.isdisjoint(value):
        return {str(name): to_wire(each) for name, each in value.items()}
    return {TYPE: "dict", VALUE: [[name, to_wire(each)] for name, each in value.items()]}


def _other(value: Any) -> Any:
    if isinstance(value, Placeholder):
        return value
    if isinstance(value, Enum):
        return to_wire(value.value)
    for name in ("as_wire", "model_dump", "__json__"):
        written = getattr(value, name, None) if not isinstance(value, type) else None
        if callable(written):
            return to_wire(written())
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    return value


def _is_iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__")
