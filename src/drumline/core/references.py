"""Results that flow: a task of a job takes what its parents gave back.

Anywhere in the payload of a task that has `needs`, an object of this one form stands for a parent's result:

    {"$result": "extract"}                  the whole result of the parent `extract`
    {"$result": "extract.rows[0].id"}       what is at a path in it: `.name` into objects, `[n]` into lists, from 0
    {"$result": "extract.rows[-1]"}         counted from the end
    {"$literal": {"$result": "extract"}}    this very object, taken as it is: for data that happens to look like one

Only direct parents can be named. The text begins with the parent's key: the longest of the task's needs that fits. A
list of results, as a fan-in wants it, is a list of references. References are checked when the job is submitted and
filled in when the task is claimed; the stored payload keeps them, so a retry takes the results that are there then.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Raw, Struct

from drumline.core.codec import check_json, cut, decode, encode
from drumline.core.errors import Invalid
from drumline.core.limits import Limits

RESULT: Final = "$result"
LITERAL: Final = "$literal"
MARK: Final = b'"$'
"""In every payload that has a reference, and in hardly any other."""
LITERAL_MARK: Final = b'"$literal"'
SECRET: Final = "$secret"  # noqa: S105 - a word, not one of them
SECRET_MARK: Final = b'"$secret"'
"""In every payload that has a secret: `core/secret_references.py`."""

LONGEST_REFERENCE: Final = 1000
"""Characters of a reference."""
LONGEST_KEY: Final = 128
"""Characters of the key of a task in its job."""

_STEP = re.compile(r"\.([^.\[\]]+)|\[(-?\d{1,9})\]")

Path = tuple[str | int, ...]
"""The way into a result: names into objects, numbers into lists."""


class Reference(Struct, frozen=True):
    """A place in a parent's result."""

    parent: str
    path: Path = ()


def parse_reference(text: str, parents: Container[str]) -> Reference:
    """Return what a text refers to, or raise `Invalid`."""
    if len(text) > LONGEST_REFERENCE:
        shown = cut(text, 20)
        raise Invalid(f"{RESULT} {shown!r} has more than {LONGEST_REFERENCE:,} characters", field="payload")
    # A key ends where the text does or a step begins. A fan-in has thousands of references to as many parents.
    last = min(len(text), LONGEST_KEY)
    ends = [place for place in range(last, 0, -1) if place == len(text) or text[place] in ".["]
    parent = next((text[:end] for end in ends if text[:end] in parents), None)
    if parent is None:
        raise Invalid(f"{RESULT} {text!r} does not begin with one of the task's needs", field="payload")
    rest = text[len(parent) :]
    path: list[str | int] = []
    place = 0
    while place < len(rest):
        step = _STEP.match(rest, place)
        if step is None:
            raise Invalid(f"{RESULT} {text!r} has no path such as .name or [0] after {parent!r}", field="payload")
        path.append(step[1] if step[1] is not None else int(step[2]))
        place = step.end()
    return Reference(parent, tuple(path))


def find_references(payload: Any, parents: Sequence[str]) -> list[Reference]:
    """Return every reference in a payload, or raise `Invalid` for one that can never be filled in."""
    keys = frozenset(parents)
    return [parse_reference(text, keys) for text in _texts(payload)]


def fill_in(payload: bytes, parents: Sequence[str], results: Mapping[str, Raw], limits: Limits) -> Raw:
    """Return a payload with the parents' results in their places, or raise `Invalid` saying what is missing.

    `parents` are those that the payload refers to, and `results` has what those gave back that have completed.
    """
    # The worker has secrets to fill in yet. A result must not be able to name one, so it is marked as data; and the
    # marks stay, for the worker to take off.
    filling = _ResultFilling(frozenset(parents), results, room=limits.payload, is_last=SECRET_MARK not in payload)
    filled = encode(filling.fill(decode(payload, object)))
    if len(filled) > limits.payload:
        raise _too_large(limits.payload)
    check_json(filled, field="payload", largest=limits.payload, deepest=limits.nesting)
    return Raw(filled)


def look_up(result: Any, reference: Reference) -> Any:
    """Return what is at a path in a result, or raise `Invalid` naming the first step that leads nowhere."""
    value = result
    for number, step in enumerate(reference.path):
        try:
            value = _step_into(value, step)
        except LookupError:
            way = reference.parent + "".join(map(_shown, reference.path[: number + 1]))
            raise Invalid(f"the result of {reference.parent!r} has nothing at {way}", field="payload") from None
    return value


def _step_into(value: Any, step: str | int) -> Any:
    if isinstance(value, dict) and isinstance(step, str):
        return value[step]
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    raise LookupError(step)


class _ResultFilling:
    """Puts results into one payload, as long as there is room: a small payload may ask for a large result often."""

    def __init__(self, parents: Container[str], results: Mapping[str, Raw], *, room: int, is_last: bool) -> None:
        self._parents = parents
        self._results = results
        self._is_last = is_last
        self._known: dict[str, Any] = {}
        self._most = self._room = room

    def fill(self, value: Any) -> Any:
        """Return a value with what it refers to in it."""
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        if not isinstance(value, dict):
            return value
        if _is_special(value, LITERAL):
            return value[LITERAL] if self._is_last else value
        if not _is_special(value, RESULT) or not isinstance(value[RESULT], str):
            return {key: self.fill(each) for key, each in value.items()}
        taken = Raw(encode(self._look_up(parse_reference(value[RESULT], self._parents))))
        self._room -= len(bytes(taken))
        if self._room < 0:
            raise _too_large(self._most)
        return taken if self._is_last else {LITERAL: taken}

    def _look_up(self, reference: Reference) -> Any:
        key = reference.parent
        if key not in self._results:
            raise Invalid(f"{key!r} did not complete, so it has no result", field="payload")
        if key not in self._known:
            self._known[key] = decode(bytes(self._results[key]), object)
        return look_up(self._known[key], reference)


def _too_large(most: int) -> Invalid:
    return Invalid(
        f"is more than {most:,} bytes of JSON with the results in it, and that is the most that is accepted",
        field="payload",
        code="too_large",
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict) and not _is_special(value, LITERAL):
        if _is_special(value, RESULT) and isinstance(value[RESULT], str):
            yield value[RESULT]
        else:
            for each in value.values():
                yield from _texts(each)


def _is_special(value: Mapping[str, Any], word: str) -> bool:
    return len(value) == 1 and word in value


def _shown(step: str | int) -> str:
    return f".{step}" if isinstance(step, str) else f"[{step}]"
