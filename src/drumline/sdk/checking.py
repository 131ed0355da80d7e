"""Checking what programs write: options of decorators and submissions, where they are written and in their words.

Types are checked by a table of option names, so that a mistake is a `TypeError` that names the option; whether a value
makes sense is checked by those who know it, and raises `Invalid`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from reprlib import Repr
from typing import Any, Final, NamedTuple

from drumline.core.json_errors import suggestion
from drumline.core.retry import Backoff
from drumline.core.task import NotifyTarget

_SHORT: Final = Repr()
_SHORT.maxstring = _SHORT.maxother = 60


class Kind(NamedTuple):
    """What an option may be, and how to say so."""

    fits: Callable[[Any], bool]
    words: str


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list_of(type_: type | tuple[type, ...]) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        is_list = isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes)
        return is_list and all(isinstance(each, type_) for each in value)

    return fits


def _are_errors(value: Any) -> bool:
    several = value if isinstance(value, tuple | list | set | frozenset) else (value,)
    return all(isinstance(each, type) and issubclass(each, BaseException) for each in several)


TEXT: Final = Kind(lambda value: isinstance(value, str), "a text")
WHOLE: Final = Kind(_is_whole, "a whole number")
DURATION: Final = Kind(
    lambda value: _is_number(value) or isinstance(value, str | timedelta),
    'a duration: seconds, a text such as "1h30m", or a timedelta',
)
PRIORITY: Final = Kind(
    lambda value: _is_whole(value) or isinstance(value, str), "a whole number, or critical, high, normal or low"
)
BACKOFF: Final = Kind(lambda value: _is_number(value) or isinstance(value, Backoff), "seconds, or a Backoff")
TAGS: Final = Kind(_is_list_of(str), 'a list of texts, such as ["vip"]')
TARGETS: Final = Kind(_is_list_of(NotifyTarget), "a list of NotifyTarget")
ERRORS: Final = Kind(_are_errors, "a tuple of exception classes, such as (ConnectionError,)")
MOMENT: Final = Kind(lambda value: isinstance(value, datetime), "a datetime")
YES_OR_NO: Final = Kind(lambda value: isinstance(value, bool), "True or False")
ARGUMENTS: Final = Kind(lambda value: isinstance(value, Mapping), "a dictionary of arguments by name")

KINDS: Final[Mapping[str, Kind]] = {
    "name": TEXT, "queue": TEXT, "key": TEXT, "limit_key": TEXT, "rate_limit": TEXT, "limit_by": TEXT, "owner": TEXT,
    "tz": TEXT, "url": TEXT, "api_key": TEXT, "overlap": TEXT, "catch_up": TEXT, "mode": TEXT, "run_if": TEXT,
    "retries": WHOLE, "max_attempts": WHOLE, "max_concurrent": WHOLE, "max_runs": WHOLE,
    "timeout": DURATION, "delay": DURATION, "expires": DURATION, "jitter": DURATION, "interval": DURATION,
    "priority": PRIORITY, "backoff": BACKOFF, "tags": TAGS, "notify": TARGETS,
    "retry_on": ERRORS, "give_up_on": ERRORS,
    "run_at": MOMENT, "start": MOMENT, "end": MOMENT,
    "process": YES_OR_NO, "arguments": ARGUMENTS,
}  # fmt: skip
"""What each option may be, wherever it is taken."""
HINTS: Final[Mapping[str, str]] = {"run_at": "; for a time from now give delay"}


def check_options(given: Mapping[str, Any], known: Iterable[str], *, of: str, noun: str = "option") -> None:
    """Raise `TypeError` for options that are not known or not of their type; `of` is who takes them."""
    taken = tuple(known)
    for name, value in given.items():
        if name not in taken:
            raise TypeError(f"{of} has no {noun} {name!r}{suggestion(name, taken)}")
        kind = KINDS.get(name)
        if kind is not None and not kind.fits(value):
            raise wrong(name, kind.words + HINTS.get(name, ""), value, of=of)


def check_kind(name: str, value: Any, kind: Kind, *, of: str) -> None:
    """Raise `TypeError` for one value that is not of its type."""
    if not kind.fits(value):
        raise wrong(name, kind.words, value, of=of)


def one_of(name: str, value: Any, choices: Iterable[str], *, of: str) -> None:
    """Raise `TypeError` for a text that is not one of the choices."""
    words = [str(choice) for choice in choices]
    if value not in words:
        raise TypeError(f"{of}: {name} must be one of {', '.join(words)}{suggestion(str(value), words)}")


def wrong(name: str, words: str, value: Any, *, of: str) -> TypeError:
    """Return the error for a value that is not of its type."""
    return TypeError(f"{of}: {name} must be {words}, not {_SHORT.repr(value)}")


def as_errors(value: Any) -> tuple[type[BaseException], ...]:
    """Return exception classes as `isinstance` takes them."""
    return tuple(value) if isinstance(value, tuple | list | set | frozenset) else (value,)
