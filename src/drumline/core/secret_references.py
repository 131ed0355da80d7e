"""Secrets in payloads: named when a task is submitted, filled in by the worker right before the task runs.

Anywhere in a payload, an object of this form stands for the value of one of the tenant's secrets:

    {"$secret": "stripe"}                                the value itself
    {"$secret": "stripe", "format": "Bearer {}"}         the value in the place of {}
    {"$literal": {"$secret": "stripe"}}                  this very object, taken as it is: for data that looks like one

What is stored, shown and sent is always the reference. Which secrets a task may have is read from what was submitted
and nothing else: a parent's result that looks like a reference is data (`core/references.py` marks it as such).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Raw

from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.references import LITERAL, SECRET, SECRET_MARK
from drumline.core.secret import check_secret_name

FORMAT: Final = "format"
SLOT: Final = "{}"
LOOKED_THROUGH: Final = 50
"""Payloads that are searched together: one by one it takes several times as long, all at once too much memory."""


class SecretReference(NamedTuple):
    """Where in a payload a secret is wanted, and which."""

    field: str
    name: str


def has_secrets(payload: bytes) -> bool:
    """Tell whether a payload may refer to secrets; hardly any other has the word in it."""
    return payload.find(SECRET_MARK) >= 0  # `in` asks first whether the mark is a number


def any_has_secrets(payloads: Sequence[Raw]) -> bool:
    """Tell whether one of many payloads may refer to secrets."""
    starts = range(0, len(payloads), LOOKED_THROUGH)
    return any(has_secrets(b" ".join(payloads[start : start + LOOKED_THROUGH])) for start in starts)


def find_secrets(payload: Any, *, field: str = "payload") -> list[SecretReference]:
    """Return every reference to a secret, or raise `Invalid` naming the field of one that cannot be meant so."""
    return list(_found(payload, field))


def fill_in_secrets(payload: bytes, values: Mapping[str, str]) -> Raw:
    """Return a payload with the values of secrets in their places; each one it refers to must be there."""
    return Raw(encode(_filled(decode(payload, object), values)))


def _found(value: Any, field: str) -> Iterator[SecretReference]:
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _found(each, f"{field}[{number}]")
    elif isinstance(value, dict) and not _is_literal(value):
        if SECRET in value:
            yield SecretReference(field, _checked(value, field))
        else:
            for name, each in value.items():
                yield from _found(each, f"{field}.{name}")


def _checked(value: Mapping[str, Any], field: str) -> str:
    name = value[SECRET]
    if not isinstance(name, str) or not value.keys() <= {SECRET, FORMAT}:
        raise Invalid(
            f'must be {{"{SECRET}": name}} and nothing else but {FORMAT}; write {{"{LITERAL}": …}} around data that '
            "only looks so",
            field=field,
        )
    shape = value.get(FORMAT, SLOT)
    if not isinstance(shape, str) or shape.count(SLOT) != 1:
        raise Invalid(f"must be a text with one {SLOT} in it, where the secret goes", field=f"{field}.{FORMAT}")
    return check_secret_name(name, field=f"{field}.{SECRET}")


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    if not isinstance(value, dict):
        return value
    if _is_literal(value):
        return value[LITERAL]
    if SECRET not in value:
        return {name: _filled(each, values) for name, each in value.items()}
    shape: str = value.get(FORMAT, SLOT)
    return shape.replace(SLOT, values[value[SECRET]])


def _is_literal(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and LITERAL in value
