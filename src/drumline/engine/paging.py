"""Pages of things that may be large: they end after so many bytes, whatever number was asked for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes after which a page ends; the cursor leads to the rest."""
FEWEST: Final = 8
"""Things that are read at first; twice as many after each small answer."""
MOST: Final = 100
"""Things that are read at once at most: those before them may have been small, and these large."""
SMALL: Final = 512 * 1024


async def bounded_page(
    read: Callable[[int, T | None], Awaitable[Sequence[T]]],
    *,
    limit: int,
    weigh: Callable[[T], int],
    at_once: int = FEWEST,
) -> tuple[list[T], bool]:
    """Return up to `limit` things, fewer if they are large, and whether there are more.

    `read` returns so many of those that follow the given one, or the first if that is None; `at_once` at first.
    """
    found: list[T] = []
    size = 0
    while len(found) <= limit:
        wanted = min(at_once, limit + 1 - len(found))
        more = await read(wanted, found[-1] if found else None)
        weight = 0
        for place, each in enumerate(more, 1):
            found.append(each)
            weight += weigh(each)
            if size + weight >= MOST_BYTES and (place < len(more) or len(more) == wanted):
                return found[:limit], True  # full by its bytes: whether there is more, the next page tells
        if len(more) < wanted:
            return found[:limit], len(found) > limit
        size += weight
        at_once = min(at_once * 2, MOST) if weight < SMALL else FEWEST
    return found[:limit], True
