"""Matches texts against patterns in which `*` matches any text.

Regular expressions with several `.*` take time that grows with a power of the text's length. Here each part between two
stars is looked for once, from left to right, so the time grows with the length alone, whatever the pattern is.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

STAR: Final = "*"
MOST_CACHED: Final = 256
"""Lists of patterns that are kept split."""


class Globs:
    """Patterns that are ready to be matched; a text matches if one of them does."""

    __slots__ = ("_exact", "_open")

    def __init__(self, patterns: Iterable[str]) -> None:
        self._exact: set[str] = set()
        self._open: list[tuple[str, tuple[str, ...], str]] = []
        """Prefix, parts in between, and suffix of each pattern that has a star."""
        for pattern in dict.fromkeys(patterns):
            first, *rest = pattern.split(STAR)
            if rest:
                # Two stars in a row match what one does.
                self._open.append((first, tuple(part for part in rest[:-1] if part), rest[-1]))
            else:
                self._exact.add(pattern)

    def match(self, text: str) -> bool:
        """Tell whether one of the patterns matches the whole text."""
        return text in self._exact or any(_fits(text, *parts) for parts in self._open)


@lru_cache(maxsize=MOST_CACHED)
def globs_of(patterns: tuple[str, ...]) -> Globs:
    """Return patterns ready to be matched; those used last are kept."""
    return Globs(patterns)


def _fits(text: str, prefix: str, between: tuple[str, ...], suffix: str) -> bool:
    end = len(text) - len(suffix)
    place = len(prefix)
    if place > end or not text.startswith(prefix) or not text.endswith(suffix):
        return False
    # The leftmost place of each part leaves the most room for the parts after it, so nothing is tried twice.
    for part in between:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True
