"""What the values of a filter's terms mean: patterns, numbers, times, durations and values of payloads."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from math import isfinite
from operator import ge, gt, le, lt
from typing import Any, Final, NamedTuple

from drumline.core.clock import Instant, to_instant
from drumline.core.duration import millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.filter_syntax import Operator, Term, Value
from drumline.core.globs import STAR, Globs

DAY_MS: Final = 86_400_000
COMPARE: Final[dict[Operator, Callable[[Any, Any], bool]]] = {
    Operator.ABOVE: gt,
    Operator.FROM: ge,
    Operator.BELOW: lt,
    Operator.UP_TO: le,
}
_WORDS: Final = {"true": True, "false": False, "null": None}
_NO_NUMBER: Final = object()


class Stretch(NamedTuple):
    """A stretch of time: from a millisecond up to, and without, another; None where it is open."""

    since: int | None = None
    until: int | None = None

    def has(self, at: int | None) -> bool:
        """Tell whether a time is in it; none is not."""
        return at is not None and (self.since is None or at >= self.since) and (self.until is None or at < self.until)


def one_value(term: Term) -> Value:
    """Return the only value of a term."""
    if len(term.values) > 1:
        term.refuse("takes one value")
    return term.values[0]


def pattern_of(values: Iterable[Value]) -> Callable[[str], bool]:
    """Return what tells whether a text is one of some values, in which `*` stands for any text."""
    literal = frozenset(value.text for value in values if value.is_quoted or STAR not in value.text)
    globs = Globs(value.text for value in values if not value.is_quoted and STAR in value.text)
    return lambda text: text in literal or globs.match(text)


def part_of(values: Iterable[Value]) -> Callable[[str], bool]:
    """Return what tells whether a text in lower case has one of some values in it, in letters of either case.

    Such a text may be long, and several terms look at it: it is lowered once for all of them.
    """
    parts = [value.text.lower() for value in values if value.is_quoted or STAR not in value.text]
    globs = Globs(f"*{value.text.lower()}*" for value in values if not value.is_quoted and STAR in value.text)

    return lambda lower: any(part in lower for part in parts) or globs.match(lower)


def number_of(term: Term, parse: Callable[[str], float]) -> Callable[[float], bool]:
    """Return what compares a number with the values of a term."""
    if term.operator.compares:
        compare, bound = COMPARE[term.operator], _parsed(term, one_value(term), parse)
        return lambda number: compare(number, bound)
    wanted = {_parsed(term, value, parse) for value in term.values}
    return wanted.__contains__


def whole(text: str) -> int:
    """Return a whole number, or raise `Invalid`."""
    if len(text) > 10 or not text.removeprefix("-").isdecimal() or not text.isascii():
        raise Invalid("must be a number")
    return int(text)


def span(text: str) -> int:
    """Return a duration in milliseconds, or raise `Invalid`."""
    return millis(parse_duration(text, field="filter"))


def stretch_of(term: Term, now: Instant) -> Stretch:
    """Return the stretch of time that a term means.

    `2h` is two hours ago and `+2h` in two hours; with `:` it means the time since then. A day with `:` is all of it.
    """
    text = one_value(term).text
    day = _day(text)
    if day is not None and term.operator in {Operator.IS, Operator.EQUAL}:
        return Stretch(day, day + DAY_MS)
    at = _at(term, text, now) if day is None else day
    if term.operator.compares:
        return {
            Operator.ABOVE: Stretch(since=at + 1),
            Operator.FROM: Stretch(since=at),
            Operator.BELOW: Stretch(until=at),
        }.get(term.operator, Stretch(until=at + 1))
    if not text[:1].isdigit() or _is_date(text):
        term.refuse("takes > or <, a duration such as 2h, or a day such as 2026-10-01")
    return Stretch(since=at)


def json_test(term: Term) -> Callable[[Any], bool]:
    """Return what compares a value of a payload with those of a term; of a list one item has to match."""
    if term.operator.compares:
        value = one_value(term)
        compare, number = COMPARE[term.operator], _number(value.text)

        def is_beyond(found: Any) -> bool:
            if isinstance(found, str):
                return compare(found, value.text)
            return number is not _NO_NUMBER and _is_number(found) and compare(found, number)

        return is_beyond
    fits = pattern_of(term.values)
    others: list[Any] = [_WORDS[value.text] for value in term.values if not value.is_quoted and value.text in _WORDS]
    numbers = {_number(value.text) for value in term.values if not value.is_quoted} - {_NO_NUMBER}

    def is_one(found: Any) -> bool:
        if isinstance(found, str):
            return fits(found)
        if _is_number(found):
            return found in numbers
        return any(found is other for other in others)

    return lambda found: any(map(is_one, found)) if isinstance(found, list) else is_one(found)


def member(value: Any, path: tuple[str, ...]) -> tuple[Any, ...]:
    """Return what is at a path of a JSON value, as the only item; nothing if there is no such place."""
    for name in path:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and len(name) <= 6 and int(name) < len(value):
            value = value[int(name)]
        else:
            return ()
    return (value,)


def _parsed(term: Term, value: Value, parse: Callable[[str], float]) -> float:
    try:
        return parse(value.text)
    except Invalid as error:
        term.refuse(error.message)


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _number(text: str) -> Any:
    """Return a text as a number, exactly if it is a whole one."""
    if not text.isascii() or len(text) > 32:
        return _NO_NUMBER
    try:
        return int(text) if text.removeprefix("-").isdecimal() else _finite(float(text))
    except ValueError:
        return _NO_NUMBER


def _finite(number: float) -> Any:
    return number if isfinite(number) else _NO_NUMBER


def _at(term: Term, text: str, now: Instant) -> int:
    if text == "now":
        return now
    if _is_date(text):
        return _moment(term, text)
    ahead = text.startswith("+")
    try:
        length = span(text.removeprefix("+"))
    except Invalid:
        term.refuse("is not a time: use a duration such as 2h, +2h, a day, or 2026-10-01T09:00:00Z")
    return now + length if ahead else max(now - length, 0)


def _is_date(text: str) -> bool:
    return len(text) >= 10 and text[4] == text[7] == "-"


def _day(text: str) -> int | None:
    if len(text) != 10 or not _is_date(text):
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
        return to_instant(day, field="filter")
    except (ValueError, Invalid):
        return None


def _moment(term: Term, text: str) -> int:
    try:
        found = datetime.fromisoformat(text)
        return to_instant(found if found.tzinfo else found.replace(tzinfo=UTC), field="filter")
    except (ValueError, OverflowError, Invalid):
        term.refuse("is not a time such as 2026-10-01T09:00:00Z")
