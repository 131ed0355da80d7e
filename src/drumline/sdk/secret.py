"""Secrets in arguments: named here, and filled in by the worker right before the task runs.

    charge.submit(order=7, token=secret("stripe"))

Only what `secret` returns names one. Data that happens to look like a reference is marked as data, so that nobody who
sends data through a program can have secrets put into it.
"""

from secrets import token_hex
from typing import Any, Final, cast

import msgspec

from drumline.core.errors import Invalid
from drumline.core.references import LITERAL, SECRET
from drumline.core.secret import check_secret_name
from drumline.core.secret_references import FORMAT, SLOT

TOKEN: Final = f"{SECRET}{token_hex(16)}"
"""Written in place of the mark while arguments are encoded: user data cannot contain it."""
WORD: Final = b'"$secret'
"""In everything that has a reference or the token."""


class SecretName:
    """A secret that a task will be given."""

    __slots__ = ("format", "name")

    def __init__(self, name: str, format: str) -> None:
        self.name = name
        self.format = format

    def __repr__(self) -> str:
        return f"<secret {self.name}>"

    def written(self) -> dict[str, str]:
        """Return it as it is written in arguments until they are `settled`."""
        named = {TOKEN: self.name}
        return named if self.format == SLOT else {**named, FORMAT: self.format}


def secret(name: str, *, format: str = SLOT) -> Any:
    """Return a reference to one of the tenant's secrets, for a task's arguments; `format` is put around its value.

    `secret("api", format="Bearer {}")` gives the task the text "Bearer …".
    """
    check_secret_name(name)
    if format.count(SLOT) != 1:
        raise Invalid(f"must be a text with one {SLOT} in it, where the secret goes", field="format")
    return cast("Any", SecretName(name, format))


def settled(written: bytes) -> bytes:
    """Return arguments with references to secrets in their places, and data that looks like one marked as data."""
    value = _escaped(msgspec.json.decode(written))
    return msgspec.json.encode(value).replace(TOKEN.encode(), SECRET.encode())


def looks_like_secret(value: dict[str, Any]) -> bool:
    """Tell whether data looks like a reference to a secret."""
    return SECRET in value


def _escaped(value: Any) -> Any:
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    if not isinstance(value, dict):
        return value
    if not looks_like_secret(value) and not (len(value) == 1 and LITERAL in value):
        return {name: _escaped(each) for name, each in value.items()}
    if TOKEN.encode() in msgspec.json.encode(value):
        raise Invalid(f"an object with {SECRET} or {LITERAL} in it cannot hold secrets", field="payload")
    return {LITERAL: value}
