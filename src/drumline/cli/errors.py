"""Errors on the command line: the exit status, which scripts depend on, and the message.

What the API calls a field is told by the name of the flag that it was given with.
"""

import json
import re
import shlex
from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final

from drumline.core.errors import (
    Conflict,
    DrumlineError,
    Forbidden,
    Invalid,
    KeyReused,
    NotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    Unavailable,
)


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0  # done, an empty list included
    FAILED = 1  # something went wrong
    USAGE = 2  # not understood, not valid, or not confirmed
    NOT_FOUND = 3  # no such task, job, queue or worker
    AUTH = 4  # no key, or not one that may do this
    TASK_FAILED = 5  # the awaited task or job failed
    TASK_CANCELLED = 6  # the awaited task or job was cancelled, or the task skipped
    TIMED_OUT = 7  # the waiting ended before the task or job did
    UNREACHABLE = 8  # no answer from the server
    CONFLICT = 9  # the state does not allow it, or the key is taken
    INTERRUPTED = 130  # Ctrl-C


_CODES: tuple[tuple[type[DrumlineError], ExitCode], ...] = (
    (KeyReused, ExitCode.CONFLICT),
    (Invalid, ExitCode.USAGE),
    (NotFound, ExitCode.NOT_FOUND),
    (Conflict, ExitCode.CONFLICT),
    (Unauthorized, ExitCode.AUTH),
    (Forbidden, ExitCode.AUTH),
    (RateLimited, ExitCode.FAILED),
    (QuotaExceeded, ExitCode.FAILED),
    (Overloaded, ExitCode.UNREACHABLE),
    (Unavailable, ExitCode.UNREACHABLE),
)

_ENDINGS = {
    "COMPLETED": ExitCode.OK,
    "FAILED": ExitCode.TASK_FAILED,
    "CANCELLED": ExitCode.TASK_CANCELLED,
    "SKIPPED": ExitCode.TASK_CANCELLED,
}


def exit_code_of(error: DrumlineError) -> ExitCode:
    """Return the exit status for an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def exit_code_for(status: str) -> ExitCode:
    """Return the exit status for the end of an awaited task or job; TIMED_OUT if it has not ended."""
    return _ENDINGS.get(status, ExitCode.TIMED_OUT)


_FLAGS: Final = {
    "after": ("--after",),
    "api_key": ("--api-key",),
    "as_of": ("--as-of",),
    "end": ("--end", "--to"),
    "events": ("--on",),
    "giver": ("--from",),
    "idempotency_key": ("--key",),
    "interval": ("--every",),
    "kind": ("--kind",),
    "measure": ("--on",),
    "payload": ("--payload", "-p", "--arg", "-a"),
    "reason": ("--why", "--reason"),
    "run_at": ("--at",),
    "start": ("--start", "--from"),
    "tags": ("--tag",),
    "taker": ("--to",),
    "threshold": ("--above",),
    "timezone": ("--tz", "--timezone"),
}
"""The flags of fields that have other names there; the others have their own."""
_SUBJECTLESS: Final = ("must ", "is ", "has ", "cannot ", "differs ", "belongs ", "form ", "names ")
"""How reasons begin that say nothing without their subject; a sentence names it already."""
_ARGUMENT: Final = frozenset({"--arg", "-a"})
_WHOLE: Final = frozenset({"--payload", "-p", "--file", "-f"})
"""Flags that give payloads as a whole."""
_PARTS: Final = re.compile(r"[.\[\]]+")
_WORD: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def message_of(error: DrumlineError, given: Sequence[str]) -> str:
    """Return the message of an error, with fields replaced by the flags that were given."""
    message = _WORD.sub(lambda found: flag_of(found[0], given) or found[0], error.message)
    if not error.field:
        return message
    name, inner = _argument_at(error.field)
    argument = next((text for text in _arguments(given) if name and text.startswith(f"{name}=")), None)
    if argument is not None:
        return f"--arg {argument}: {f'{inner}: ' if inner else ''}{message}{_as_text(argument, message)}"
    if name and message == "is required" and not _WHOLE.intersection(given):
        return f"the argument {name} is required: --arg {name}=VALUE"
    flag = flag_of(error.field, given)
    if flag is not None:
        return message if message.startswith(flag) else f"{flag}: {_detail(error.field)}{message}"
    return f"{error.field}: {message}" if message.startswith(_SUBJECTLESS) else message


def flag_of(field: str, given: Sequence[str]) -> str | None:
    """Return the given flag that sets a field of the API."""
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


def _argument_at(field: str) -> tuple[str, str]:
    """Return the argument of the task that a field is about, and the place inside it; empty for other fields."""
    root, _, rest = field.removeprefix("task.").partition(".")
    name, _, inner = rest.partition(".")
    return (_PARTS.split(name)[0], inner) if root == "payload" else ("", "")


def _arguments(given: Sequence[str]) -> list[str]:
    """Return the `NAME=VALUE` of each `--arg`."""
    texts = [following for word, following in pairwise(given) if word in _ARGUMENT]
    joined = [word for word in given if word.startswith(("--arg=", "-a")) and word not in _ARGUMENT]
    return texts + [word.removeprefix("--arg=").removeprefix("-a") for word in joined]


def _as_text(argument: str, message: str) -> str:
    """Return how to give a text that looks like another JSON value, if that is what the message asks for."""
    if not message.startswith("must be a text, not "):
        return ""
    name, _, value = argument.partition("=")
    return f"; for the text write --arg {shlex.quote(f'{name}={json.dumps(value, ensure_ascii=False)}')}"
