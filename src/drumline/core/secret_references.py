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
from drumline.core.json_place import JsonPlace
from drumline.core.references import LITERAL, SECRET, SECRET_MARK
from drumline.core.secret import check_secret_name

FORMAT: Final = "format"
SLOT: Final = "{}"
MOST_NAMES: Final = 1000
"""Secrets that one payload may refer to: as many as a tenant may have."""
MOST_FILLED: Final = 16 * 1024 * 1024
"""Characters of values in one payload: a small payload may ask for a large secret often."""
LOOKED_THROUGH: Final = 50
"""Payloads that are searched together: one by one it takes several times as long, all at once too much memory."""


class SecretReference(NamedTuple):
    """Where in a payload a secret is wanted, and which."""

    field: str
    name: str


def has_secrets(payload: bytes) -> bool:
    """Tell whether a payload may refer to secrets: a quick search for `$secret`."""
    return payload.find(SECRET_MARK) >= 0  # `in` asks first whether the mark is a number


def any_has_secrets(payloads: Sequence[Raw]) -> bool:
    """Tell whether one of many payloads may refer to secrets."""
    starts = range(0, len(payloads), LOOKED_THROUGH)
    return any(has_secrets(b" ".join(payloads[start : start + LOOKED_THROUGH])) for start in starts)


def find_secrets(payload: Any, *, field: str = "payload") -> list[SecretReference]:
    """Return the first reference to each secret, or raise `Invalid` naming the field of one that cannot be meant so."""
    places: dict[str, JsonPlace] = {}
    for place, name in _found(payload, JsonPlace(field)):
        places.setdefault(name, place)
        if len(places) > MOST_NAMES:
            raise Invalid(f"refers to more than {MOST_NAMES:,} secrets", field=field, code="too_many")
    return [SecretReference(str(place), name) for name, place in places.items()]


def fill_in_secrets(payload: bytes, values: Mapping[str, str]) -> Raw:
    """Return a payload with the values of secrets in their places; each one it refers to must be there."""
    return Raw(encode(_SecretFilling(values).fill(decode(payload, object))))


def _found(payload: Any, field: JsonPlace) -> Iterator[tuple[JsonPlace, str]]:
    waiting = [(payload, field)]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, list):
            # The last first, so that what comes first is taken next.
            inner = [(each, place / number) for number, each in enumerate(value) if isinstance(each, dict | list)]
            waiting += reversed(inner)
        elif isinstance(value, dict) and not _is_literal(value):
            if SECRET in value:
                yield place, _checked(value, place)
            else:
                named = [(each, place / name) for name, each in value.items() if isinstance(each, dict | list)]
                waiting += reversed(named)


def _checked(value: Mapping[str, Any], place: JsonPlace) -> str:
    name = value[SECRET]
    if not isinstance(name, str) or not value.keys() <= {SECRET, FORMAT}:
        raise Invalid(
            f'must be {{"{SECRET}": name}} and nothing else but {FORMAT}; write {{"{LITERAL}": …}} around data that '
            "only looks so",
            field=str(place),
        )
    shape = value.get(FORMAT, SLOT)
    if not isinstance(shape, str) or shape.count(SLOT) != 1:
        raise Invalid(f"must be a text with one {SLOT} in it, where the secret goes", field=str(place / FORMAT))
    try:
        return check_secret_name(name)
    except Invalid as error:
        raise Invalid(error.message, field=str(place / SECRET), code=error.code) from error


class _SecretFilling:
    """Puts the values of secrets into one payload, as long as there is room."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._room = MOST_FILLED

    def fill(self, value: Any) -> Any:
        """Return a value with the secrets that it refers to in it."""
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        if not isinstance(value, dict):
            return value
        if _is_literal(value):
            return value[LITERAL]
        if SECRET not in value:
            return {name: self.fill(each) for name, each in value.items()}
        shape: str = value.get(FORMAT, SLOT)
        secret = self._values[value[SECRET]]
        self._room -= len(secret)
        if self._room < 0:
            raise Invalid(
                f"is more than {MOST_FILLED:,} characters with the secrets in it", field="payload", code="too_large"
            )
        return shape.replace(SLOT, secret)


def _is_literal(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and LITERAL in value
