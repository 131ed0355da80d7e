"""Finds the exception that a remote error was, as well as its text allows."""

import ast
import builtins
import re
import sys
from typing import Any, Final

from drumline.compat.celery import exceptions
from drumline.core.outcome import ErrorInfo

_LAST_LINE: Final = re.compile(r"([\w.]+)\.(\w+)(?::|$)")
_OURS: Final = {"Timeout": exceptions.TimeLimitExceeded, "TimedOut": exceptions.TimeLimitExceeded}


def exception_of(error: ErrorInfo) -> BaseException:
    """Return an exception of the class that was raised, if this program has loaded it, with its arguments.

    An exception that takes other arguments than it shows, or whose class is nowhere to be found, is a `TaskError`
    that is named like it.
    """
    kind = class_of(error)
    arguments = _arguments(error.message, error.kind)
    if kind is not None:
        try:
            return kind(*arguments)
        except Exception:  # noqa: BLE001 - a constructor of the user's
            kind = None
    named: type[exceptions.TaskError] = type(error.kind.rpartition(".")[2] or "TaskError", (exceptions.TaskError,), {})
    return named(f"{error.kind}({', '.join(map(repr, arguments))})")


def class_of(error: ErrorInfo) -> type[Exception] | None:
    """Return the class of a remote error: a builtin, one of Celery's names, or one of the module it came from.

    Nothing is imported for it, and nothing but an exception is ever called: the text comes from elsewhere.
    """
    ours = getattr(exceptions, error.kind, None) or _OURS.get(error.kind)
    found = getattr(builtins, error.kind, None) or ours or _from_module(error)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _from_module(error: ErrorInfo) -> Any:
    name = error.kind.rpartition(".")[2]
    for line in reversed(error.traceback.rstrip().splitlines()):
        match = _LAST_LINE.match(line)
        if match is not None and match[2] == name:
            return _attribute(match[1], error.kind)
    return None


def _attribute(module: str, path: str) -> Any:
    # The text gives `module.Class`, or `module.Outer.Inner`.
    outer = path.rpartition(".")[0]
    module = module.removesuffix(f".{outer}") if outer else module
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _arguments(message: str, kind: str) -> tuple[Any, ...]:
    """Return the arguments of an exception from its text: one, none, or those of a tuple."""
    if message == kind:  # which is what an exception without a text is recorded with
        return ()
    if message.startswith("(") and message.endswith(")"):
        try:
            found = ast.literal_eval(message)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return (message,)
        if isinstance(found, tuple) and len(found) > 1:
            return found
    return (message,)
