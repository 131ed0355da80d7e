"""Explains why JSON does not fit its type, for the author of the JSON."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final, get_args, get_origin, get_type_hints

_KINDS: Final = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "bytes": "a base64 text",
    "datetime": "a time such as 2026-01-02T03:04:05Z",
    "date": "a date such as 2026-01-02",
    "uuid": "a UUID",
    "decimal": "a decimal number",
    "timedelta": "a duration such as PT1H30M",
}
_LONGEST_WORD: Final = 100
"""Characters of a word that may be a mistyped one."""
_GOT: Final = {"float": "a number with a fraction"}
_BOUNDS: Final = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_PHRASES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"Object missing required field .*", re.DOTALL), lambda _: "is required"),
    (re.compile(r"Object contains unknown field .*", re.DOTALL), lambda _: "is not a known field"),
    (re.compile(r"Invalid RFC3339 encoded datetime"), lambda _: f"must be {_KINDS['datetime']}"),
    (re.compile(r"Invalid RFC3339 encoded date"), lambda _: f"must be {_KINDS['date']}"),
    (re.compile(r"Invalid ISO8601 duration"), lambda _: f"must be {_KINDS['timedelta']}"),
    (re.compile(r"(?:Number|Integer value) out of range"), lambda _: "is a number out of range"),
    (
        re.compile(r"Expected `(?:int|float|decimal)` (>=|<=|>|<) (\S+)"),
        lambda found: f"must be {_BOUNDS[found[1]]} {found[2].removesuffix('.0')}",
    ),
    (
        re.compile(r"Expected `str` of length (>=|<=) (\d+)"),
        lambda found: f"must have {_BOUNDS[found[1]]} {found[2]} characters",
    ),
    (
        re.compile(r"Expected `\w+` of length (>=|<=) (\d+)"),
        lambda found: f"must have {_BOUNDS[found[1]]} {found[2]} items",
    ),
    (
        re.compile(r"Expected `([^`]+)`, got `([^`]+)`"),
        lambda found: f"must be {_kinds(found[1])}, not {_GOT.get(found[2]) or _kinds(found[2])}",
    ),
)
_ENUM: Final = re.compile(r"Invalid enum value '?(.*?)'?", re.DOTALL)


def reword(reason: str, *, choices: tuple[str, ...] = ()) -> str:
    """Rewrite msgspec's message; `choices` are the allowed values."""
    value = _ENUM.fullmatch(reason)
    if value:
        return _not_among(value[1], choices)
    said = ((pattern.fullmatch(reason), say) for pattern, say in _PHRASES)
    return next((say(found) for found, say in said if found), reason[:1].lower() + reason[1:])


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?` if there is something near to suggest."""
    if len(word) > _LONGEST_WORD:
        return ""
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def choices_at(type: Any, path: str) -> tuple[str, ...]:
    """Return the values that a type takes at a path such as `notify[0].on`, where it takes only certain ones."""
    return next((tuple(str(value) for value in found) for found in map(_values, _types_at(type, path)) if found), ())


def fields_at(type: Any, path: str) -> tuple[str, ...]:
    """Return the names that an object may have at a path."""
    return tuple(name for one in _types_at(type, path) for name in getattr(one, "__struct_encode_fields__", ()))


def _kinds(words: str) -> str:
    shown = [_KINDS.get(word, word) for word in words.split(" | ")]
    # A person who gave the wrong thing seldom wants to know that nothing would have done as well.
    wanted = [word for word in shown if word != "null"] or shown
    return " or ".join(dict.fromkeys(wanted))


def _not_among(value: str, choices: tuple[str, ...]) -> str:
    if not choices:
        return f"is not one of its values: {value}"
    return f"must be one of {', '.join(choices)}" + suggestion(value, choices)


def _types_at(type: Any, path: str) -> list[Any]:
    types = _plain(type)
    for step in re.findall(r"\[[^][]*\]|[^.[\]]+", path):
        types = [inner for one in types for found in _inside(one, step) for inner in _plain(found)]
    return types


def _inside(type: Any, step: str) -> list[Any]:
    if step.startswith("["):
        return [inner for inner in get_args(type) if inner is not Ellipsis]
    if not hasattr(type, "__struct_encode_fields__"):
        return []
    try:
        hints = get_type_hints(type, include_extras=True)
    except NameError:  # the type reads well enough, but its hints name what only its author can see
        return []
    names = zip(type.__struct_encode_fields__, type.__struct_fields__, strict=True)
    return [hints[name] for encoded, name in names if encoded == step]


def _plain(type: Any) -> list[Any]:
    """Return a type's alternatives, without what is said about them."""
    if hasattr(type, "__metadata__"):
        return _plain(type.__origin__)
    is_union = str(get_origin(type)) in {"typing.Union", "<class 'types.UnionType'>"}
    return [inner for one in get_args(type) for inner in _plain(one)] if is_union else [type]


def _values(one: Any) -> tuple[Any, ...]:
    if isinstance(one, type) and issubclass(one, Enum):
        return tuple(member.value for member in one)
    return get_args(one) if str(get_origin(one)) == "typing.Literal" else ()
