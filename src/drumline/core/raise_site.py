"""Reads the text of a Python traceback: which error began a chain, and which statement raised an error.

A message that a `raise` statement writes by itself (`raise LookupError(f"no customer {name}")`) varies with its data,
in words that no pattern can tell from others. The statement does not vary: it says the cause.
"""

import re
from typing import Final

from msgspec import Struct

from drumline.core.outcome import ErrorInfo

LINKS: Final = (
    "\nThe above exception was the direct cause of the following exception:\n",
    "\nDuring handling of the above exception, another exception occurred:\n",
)
FILE: Final = 'File "'
LONGEST_STATEMENT: Final = 500
_LITERAL: Final = re.compile(r"""(?P<letters>[A-Za-z]{0,2})(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)')""")
_VALUE: Final = re.compile(r"\{[^{}]*\}")
_PERCENT: Final = re.compile(r"%(?:\([A-Za-z_]+\))?[-+0-9.]{0,8}[sdrfx]")
_NAME: Final = re.compile(r"\{([A-Za-z_][\w.]{0,60})[!:}]")
_WORDS: Final = re.compile(r"[A-Za-z]{3}")


class Raised(Struct, frozen=True):
    """One error of a chain: its class, its message, and its part of the traceback."""

    kind: str
    message: str
    traceback: str


def chain_of(error: ErrorInfo) -> tuple[Raised, Raised | None]:
    """Return the last error of a chain, and the first if there are several."""
    text = error.traceback
    ends = [place for link in LINKS if (place := text.find(link)) >= 0]
    if not ends:
        return Raised(error.kind, error.message, text), None
    begin = max(text.rfind(link) for link in LINKS)
    return Raised(error.kind, error.message, text[begin:]), _raised(text[: min(ends)])


class Statement(Struct, frozen=True):
    """A `raise` statement: its code, and the message that it writes, with names in the place of values."""

    code: str
    template: str


def raise_site(raised: Raised) -> Statement | None:
    """Return the statement that wrote the message of an error; None if it is not known to have done so."""
    place = raised.traceback.rfind(FILE)
    if place < 0:
        return None
    code = "".join(_code(raised.traceback[place : place + 2 * LONGEST_STATEMENT]))[:LONGEST_STATEMENT]
    if not code.startswith("raise "):
        return None
    fixed, template = max(_literals(code), key=lambda literal: len(literal[0]), default=("", ""))
    return Statement(code, template) if _WORDS.search(fixed) and fixed in raised.message else None


def _code(frame: str) -> list[str]:
    """Return the lines of code below the head of a frame, without those that underline a part."""
    lines: list[str] = []
    for line in frame.split("\n")[1:]:
        if not line.startswith("    "):
            break
        if line.strip(" ^~"):
            lines.append(line.strip())
    return lines


def _literals(code: str) -> list[tuple[str, str]]:
    """Return the texts in a statement: the longest piece between the values that are filled in, and the whole."""
    found: list[tuple[str, str]] = []
    for literal in _LITERAL.finditer(code):
        text = literal["double"] if literal["double"] is not None else literal["single"]
        value = _VALUE if "{" in text else _PERCENT
        pieces = value.split(text)
        found.append((max(pieces, key=len), value.sub(_named, text)))
    return found


def _named(value: re.Match[str]) -> str:
    name = _NAME.match(value[0])
    return f"<{name[1]}>" if name else "<value>"


def _raised(part: str) -> Raised | None:
    """Return the error that a part of a traceback ends with: the first line that is not indented after its frames."""
    place = part.rfind(FILE)
    if place < 0:
        return None
    lines = part[place:].split("\n")[1:]
    for number, line in enumerate(lines):
        if line and not line.startswith(" "):
            name, _, message = "\n".join(lines[number:]).strip().partition(": ")
            kind = name.rpartition(".")[2]
            return Raised(kind, message, part) if kind.isidentifier() else None
    return None
