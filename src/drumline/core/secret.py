"""A tenant's secret: a name that payloads refer to, and a value that only the worker of such a task gets to see."""

import re
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.event import Fact

LONGEST_NAME: Final = 128
SHORTEST_VALUE: Final = 4
"""A value is masked wherever it appears: a shorter one would black out half of every log."""
LONGEST_VALUE: Final = 64 * 1024
MOST_SECRETS: Final = 1000
"""Secrets of one tenant."""

NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]*"

_NAME: Final = re.compile(NAME_PATTERN)


class SecretView(Struct, frozen=True, kw_only=True):
    """What people may know of a secret."""

    tenant: str
    name: str
    version: int
    """How often its value was set."""
    key_id: str
    """The key that it is sealed with."""
    created_at: Instant
    updated_at: Instant


class SealedSecret(Struct, frozen=True, kw_only=True):
    """A secret as it is kept."""

    tenant: str
    name: str
    key_id: str
    sealed: bytes


def check_secret_name(name: str, *, field: str = "name") -> str:
    """Return a secret's name: letters, digits and `_ . -`, since it is part of URLs."""
    if len(name) > LONGEST_NAME:
        raise Invalid(f"must be at most {LONGEST_NAME} characters", field=field)
    if _NAME.fullmatch(name) is None:
        raise Invalid("must be letters, digits and _ . - only, and start with a letter or digit", field=field)
    return name


def check_secret_value(value: str, *, field: str = "value") -> str:
    """Return a secret's value, or raise an `Invalid` that does not contain it."""
    if len(value) < SHORTEST_VALUE:
        raise Invalid(
            f"must have at least {SHORTEST_VALUE} characters: it is masked wherever it appears, and less would "
            "mask half of everything",
            field=field,
        )
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise Invalid("must be valid Unicode", field=field) from None
    if size > LONGEST_VALUE:
        raise Invalid(f"must be at most {LONGEST_VALUE:,} bytes", field=field, code="too_large")
    if "\x00" in value:
        raise Invalid("must not contain NUL", field=field)
    return value


def purpose_of(tenant: str, name: str) -> tuple[str, ...]:
    """Return the context that a sealed value is bound to: copied to another tenant or name, it cannot be opened."""
    return ("secret", tenant, name)


def secret_fact(verb: str, tenant: str, name: str) -> Fact:
    """A secret was set or deleted; its value is not part of the event."""
    return Fact(f"drumline.secret.{verb}", name, tenant)
