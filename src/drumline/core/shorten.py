"""Shortens texts: the beginning and the end are kept, with the number of characters left out in between."""

from typing import Final

_ROOM: Final = 60
"""Characters that the note of what was left out takes at most."""


def shorten(text: str, largest: int) -> str:
    """Return a text in at most `largest` characters: a third of them from its beginning, the rest from its end."""
    if len(text) <= largest:
        return text
    if largest <= 2 * _ROOM:
        return text[-largest:] if largest > 0 else ""
    kept = largest - _ROOM
    head = kept // 3
    left_out = len(text) - kept
    return f"{text[:head]}\n[{left_out:,} characters left out]\n{text[len(text) - (kept - head) :]}"
