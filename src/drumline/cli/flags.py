"""Errors in the words of the command line: what the API calls a field, a person has given as a flag."""

import re
from collections.abc import Sequence
from typing import Final

from drumline.core.errors import DrumlineError

_FLAGS: Final = {
    "after": ("--after",),
    "api_key": ("--api-key",),
    "as_of": ("--as-of",),
    "end": ("--end", "--to"),
    "idempotency_key": ("--key",),
    "interval": ("--every",),
    "kind": ("--kind",),
    "payload": ("--payload", "-p", "--arg", "-a"),
    "reason": ("--why", "--reason"),
    "run_at": ("--at",),
    "start": ("--start", "--from"),
    "tags": ("--tag",),
    "timezone": ("--tz", "--timezone"),
}
"""The flags of fields that have other names there; the others have their own."""
_SUBJECTLESS: Final = ("must ", "is ", "has ", "cannot ", "differs ", "belongs ", "form ", "names ")
"""How reasons begin that say nothing without their subject; a sentence names it already."""
_PARTS: Final = re.compile(r"[.\[\]]+")
_WORD: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def message_of(error: DrumlineError, given: Sequence[str]) -> str:
    """Return what an error says to somebody who has given these words."""
    message = _WORD.sub(lambda found: flag_of(found[0], given) or found[0], error.message)
    if not error.field:
        return message
    flag = flag_of(error.field, given)
    if flag is not None:
        return message if message.startswith(flag) else f"{flag}: {_detail(error.field)}{message}"
    return f"{error.field}: {message}" if message.startswith(_SUBJECTLESS) else message


def flag_of(field: str, given: Sequence[str]) -> str | None:
    """Return the flag among the given words that a field of the API is about."""
    flags = {word.partition("=")[0] for word in given if word.startswith("-")}
    for part in reversed([part for part in _PARTS.split(field) if part]):
        names = _FLAGS.get(part, (f"--{part.replace('_', '-')}", f"--{part.replace('_', '-').removesuffix('s')}"))
        found = next((name for name in names if name in flags), None)
        if found is not None:
            return found
    return None


def _detail(field: str) -> str:
    """Return where inside of what a flag was given it is, such as `to.address: `."""
    root, _, rest = field.partition(".")
    return f"{rest}: " if root == "payload" and rest else ""
