"""Masking: the values of secrets are blotted out of everything that leaves an attempt.

A value is looked for as it is and as it is usually written down: escaped in JSON, Python, URLs and HTML, in base64
(also in the middle of something, as in `Authorization: Basic`), and each line of a value of several lines by itself.
A program that takes a value apart, or enciphers it, is not stopped by this.
"""

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import quote, quote_plus

from msgspec import Raw

from drumline.core.codec import decode, encode

MASK: Final = "***"
SHORTEST: Final = 4
"""Characters from which on a piece of a value is worth looking for."""
SHORTEST_PIECE: Final = 8
"""The same for what is only a part of a value: a line, or base64 without its ends."""
_LOOK: Final = 8

CURRENT_MASK: Final[ContextVar["Mask | None"]] = ContextVar("drumline_mask", default=None)
"""What to blot out of whatever is written here, in an attempt that was given secrets."""


class Mask:
    """Blots out the values of some secrets."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values for form in _forms(value)}
        self._forms = sorted(forms, key=len, reverse=True)
        """The longest first, so that a value is blotted out whole and not only a shorter one inside it."""
        self._pattern = re.compile("|".join(map(re.escape, self._forms)))
        self._bytes = tuple(_json_text(form).encode() for form in self._forms)

    def text(self, text: str) -> str:
        """Return a text without the values, nor the beginning of one at its end or the end of one at its start.

        Texts are cut where they become too long, which may be in the middle of a value.
        """
        if not self._forms:
            return text
        text = self._pattern.sub(MASK, text)
        if (begun := self._begun(text)) >= SHORTEST:
            text = text[:-begun] + MASK
        if (rest := self._rest(text)) >= SHORTEST:
            text = MASK + text[rest:]
        return text

    def json(self, raw: Raw) -> Raw:
        """Return JSON without the values, in its names too; what has none comes back as it was."""
        data = bytes(raw)
        if not any(form in data for form in self._bytes):
            return raw
        return Raw(encode(self._value(decode(data, object))))

    def begun(self, text: str) -> int:
        """Return how many characters at the end of a text may be the beginning of a value."""
        return self._begun(text)

    def complete(self, text: str) -> str:
        """Return a text without the values; what may be the beginning of one stays."""
        return self._pattern.sub(MASK, text) if self._forms else text

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case list():
                return [self._value(each) for each in value]
            case dict():
                return {self.text(name): self._value(each) for name, each in value.items()}
            case None | bool():
                return value
            case _:
                return MASK if self._pattern.search(str(value)) else value

    def _begun(self, text: str) -> int:
        most = 0
        for form in self._forms:
            start = max(0, len(text) - len(form) + 1)
            place = text.find(form[0], start)
            while place >= 0 and len(text) - place > most:
                if form.startswith(text[place : place + _LOOK]) and form.startswith(text[place:]):
                    most = len(text) - place
                place = text.find(form[0], place + 1)
        return most

    def _rest(self, text: str) -> int:
        most = 0
        for form in self._forms:
            place = text.rfind(form[-1], 0, len(form) - 1)
            while place >= most:
                end = place + 1
                if form.endswith(text[max(0, end - _LOOK) : end]) and form.endswith(text[:end]):
                    most = end
                place = text.rfind(form[-1], 0, place)
        return most


def masked(text: str) -> str:
    """Return a text as it may be seen outside the attempt that runs here, if one does that was given secrets."""
    mask = CURRENT_MASK.get()
    return text if mask is None else mask.text(text)


def _forms(value: str) -> Iterator[str]:
    whole = {value, value.strip()}
    for text in tuple(whole):
        whole |= {
            _json_text(text),
            json.dumps(text)[1:-1],
            repr(text)[1:-1],
            quote(text),
            quote(text, safe=""),
            quote_plus(text),
            html.escape(text),
        }
    yield from (form for form in whole if len(form) >= SHORTEST)
    yield from (form for line in value.splitlines() if len(form := line.strip()) >= SHORTEST_PIECE)
    yield from _in_base64(value.encode())


def _in_base64(data: bytes) -> Iterator[str]:
    """Return the base64 texts that some bytes give at each offset, without the characters that depend on neighbours."""
    for before in range(3):
        spoiled_start = (0, 2, 3)[before]
        spoiled_end = (0, 3, 2)[(before + len(data)) % 3]
        text = b64encode(b"\x00" * before + data).decode()
        sure = text[spoiled_start : len(text) - spoiled_end]
        if len(sure) >= SHORTEST_PIECE:
            yield sure
            yield sure.translate(str.maketrans("+/", "-_"))


def _json_text(text: str) -> str:
    return encode(text).decode()[1:-1]
