"""The syntax of filters: `status:failed name:charge* -queue:bulk duration>5s error:"timed out"`.

A filter is a list of terms, all of which have to hold. A term is a field, an operator and one or several values; `-`
before it negates it. A word without an operator is text to search for. The scanner reads each character a bounded
number of times, so the time grows with the length alone.
"""

from enum import StrEnum
from typing import Final, NamedTuple, NoReturn

from drumline.core.errors import Invalid
from drumline.core.names import check_text

LONGEST_FILTER: Final = 1000
"""Characters of a filter."""
MOST_TERMS: Final = 30
MOST_VALUES: Final = 100
"""Values of all terms together."""
LONGEST_SHOWN: Final = 40
"""Characters of a term that an error repeats."""

_OPERATORS: Final = frozenset(":=<>!")
_END_OF_FIELD: Final = _OPERATORS | frozenset('",')


class Operator(StrEnum):
    """How a field is compared with its values."""

    IS = ":"
    EQUAL = "="
    ABOVE = ">"
    FROM = ">="
    BELOW = "<"
    UP_TO = "<="

    @property
    def compares(self) -> bool:
        """Whether it orders values, and does not only tell them apart."""
        return self in {Operator.ABOVE, Operator.FROM, Operator.BELOW, Operator.UP_TO}


class Value(NamedTuple):
    """A value of a term; in one that was quoted, `*` is a character like any other."""

    text: str
    is_quoted: bool = False


class Term(NamedTuple):
    """One condition of a filter, as it was written."""

    field: str
    """Its field; empty for text without one."""
    operator: Operator
    values: tuple[Value, ...]
    is_negated: bool
    text: str
    place: int
    """Where it begins, from 1."""

    def refuse(self, why: str) -> NoReturn:
        """Raise `Invalid` that names the term and where it is."""
        refuse(self.text, self.place, why)


def refuse(text: str, place: int, why: str) -> NoReturn:
    """Raise `Invalid` that names a piece of a filter and where it is."""
    shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
    raise Invalid(f"at character {place}, {shown}: {why}", field="filter")


def scan(text: str) -> tuple[Term, ...]:
    """Return the terms of a filter, or raise `Invalid` that says which term is wrong, where and why."""
    check_text(text, field="filter", longest=LONGEST_FILTER)
    scanner, terms, values = _Scanner(text), list[Term](), 0
    while (term := scanner.term()) is not None:
        terms.append(term)
        values += len(term.values)
        if len(terms) > MOST_TERMS:
            term.refuse(f"there are more than {MOST_TERMS} terms")
        if values > MOST_VALUES:
            term.refuse(f"there are more than {MOST_VALUES} values")
    return tuple(terms)


class _Scanner:
    """Reads a filter from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._began = 0

    def term(self) -> Term | None:
        """Return the next term; None at the end."""
        while self._next.isspace():
            self._at += 1
        if not self._next:
            return None
        self._began = self._at
        is_negated = self._next == "-" and self._took("-")
        field, operator, differs = self._field()
        values = self._values()
        if self._next and not self._next.isspace():
            self._refuse("a space has to follow a quoted value")
        text = self._text[self._began : self._at]
        return Term(field, operator, values, is_negated != differs, text, self._began + 1)

    @property
    def _next(self) -> str:
        """The character that is read next; empty at the end."""
        return self._text[self._at : self._at + 1]

    def _took(self, expected: str) -> bool:
        """Go past some text, if it comes next."""
        is_there = self._text.startswith(expected, self._at)
        self._at += len(expected) if is_there else 0
        return is_there

    def _field(self) -> tuple[str, Operator, bool]:
        """Read a field and its operator, and return whether that means unlike; nothing is read of free text."""
        end = self._at
        while end < len(self._text) and self._text[end] not in _END_OF_FIELD and not self._text[end].isspace():
            end += 1
        field, start = self._text[self._at : end], self._at
        self._at = end
        if field and self._took("!="):
            return field, Operator.EQUAL, True
        is_stated = self._took(":")
        for operator in (Operator.FROM, Operator.UP_TO, Operator.ABOVE, Operator.BELOW, Operator.EQUAL):
            if field and self._took(operator.value):
                return field, operator, False
        if field and is_stated:
            return field, Operator.IS, False
        self._at = start
        return "", Operator.IS, False

    def _values(self) -> tuple[Value, ...]:
        values = [self._value()]
        while self._took(","):
            values.append(self._value())
        return tuple(values)

    def _value(self) -> Value:
        if self._next == '"':
            return self._quoted()
        end = self._at
        while end < len(self._text) and self._text[end] not in '",' and not self._text[end].isspace():
            end += 1
        text, self._at = self._text[self._at : end], end
        if not text:
            self._refuse("a value is missing")
        return Value(text)

    def _quoted(self) -> Value:
        start, parts = self._at, list[str]()
        self._at += 1
        while self._next != '"':
            self._took("\\")
            if not self._next:
                refuse(self._text[start:], start + 1, "the closing quote is missing")
            parts.append(self._next)
            self._at += 1
        self._at += 1
        text = "".join(parts)
        if not text:
            self._refuse("a value is empty")
        return Value(text, is_quoted=True)

    def _refuse(self, why: str) -> NoReturn:
        end = self._at
        while end < len(self._text) and not self._text[end].isspace():
            end += 1
        refuse(self._text[self._began : end], self._began + 1, why)
