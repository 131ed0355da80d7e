"""Checking what programs write: options of decorators and submissions, where they are written and in their words.

Types are those that the options' `TypedDict` declares: a mistake is a `TypeError` that names the option. Whether a
value makes sense is checked where it is used, and raises `Invalid`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from reprlib import Repr
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from drumline.core.duration import Duration
from drumline.core.json_errors import suggestion
from drumline.core.retry import Backoff
from drumline.core.task import NotifyTarget
from drumline.sdk.collapse import CollapseOption

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

COLLAPSE: Final = Kind(
    lambda value: isinstance(value, CollapseOption),
    'a Debounce, Throttle, Singleton or Unique, such as Debounce("5s")',
)

_BY_TYPE: Final[Mapping[Any, Kind]] = {
    str: TEXT,
    int: WHOLE,
    bool: YES_OR_NO,
    datetime: MOMENT,
    Duration: DURATION,
    int | str: PRIORITY,
    Backoff | float: BACKOFF,
    Sequence[str]: TAGS,
    Sequence[NotifyTarget]: TARGETS,
    type[BaseException] | Sequence[type[BaseException]]: ERRORS,
    Mapping[str, Any]: ARGUMENTS,
    CollapseOption: COLLAPSE,
}
"""What an option may be, by the type that its `TypedDict` declares."""
CELERY: Final[Mapping[str, str]] = {
    "countdown": "delay",
    "eta": "run_at",
    "task_id": "key",
    "max_retries": "retries",
    "default_retry_delay": "backoff",
    "retry_backoff": "backoff",
    "autoretry_for": "retry_on",
    "dont_autoretry_for": "give_up_on",
    "time_limit": "timeout",
    "soft_time_limit": "timeout",
    "routing_key": "queue",
}
"""Our options by what Celery calls them."""
HINTS: Final[Mapping[str, str]] = {"run_at": "; for a time from now give delay"}


def kinds_of(options: Any) -> dict[str, Kind | None]:
    """Return what each option of a `TypedDict` may be; None for those that are checked elsewhere."""
    return {name: kind_of(type_) for name, type_ in options.__annotations__.items()}


def check_options(given: Mapping[str, Any], known: Mapping[str, Kind | None], *, of: str, noun: str = "option") -> None:
    """Raise `TypeError` for options that are not known or not of their type; `of` is the function that takes them."""
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"{of} has no {noun} {name!r}{_meant(name, known)}")
        kind = known[name]
        if kind is not None and not kind.fits(value):
            raise wrong(name, kind.words + HINTS.get(name, ""), value, of=of)


def _meant(name: str, known: Mapping[str, Any]) -> str:
    """Return what was probably meant by an option that is not known."""
    if name == "bind":
        return "; a task takes its context as a parameter: *, ctx: Context[None] = inject()"
    if (ours := CELERY.get(name)) in known:
        return f"; it is called {ours} here"
    return suggestion(name, known)


def kind_of(type_: Any) -> Kind | None:
    """Return what an option of a type may be; None if that is checked elsewhere."""
    return TEXT if _is_choice(type_) else _BY_TYPE.get(type_)


def _is_choice(type_: Any) -> bool:
    """Tell whether a type is a choice of texts: a literal, an enumeration, or either."""
    if get_origin(type_) is Union:
        return all(map(_is_choice, get_args(type_)))
    return get_origin(type_) is Literal or (isinstance(type_, type) and issubclass(type_, StrEnum))


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
