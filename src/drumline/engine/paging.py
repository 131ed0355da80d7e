"""Pages of things that may be large: they end after so many bytes, whatever number was asked for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes after which a page ends; the cursor leads to the rest."""
FEWEST: Final = 8
"""Things that are read at first; twice as many after each small answer."""
MOST: Final = 1000
SMALL: Final = 512 * 1024


async def bounded_page(
    read: Callable[[int, T | None], Awaitable[Sequence[T]]], *, limit: int, weigh: Callable[[T], int]
) -> tuple[list[T], bool]:
    """Return up to `limit` things, fewer if they are large, and whether there are more.

    `read` returns so many of those that follow the given one, or the first if that is None.
    """
    found: list[T] = []
    size, at_once = 0, FEWEST
    while len(found) <= limit and size < MOST_BYTES:
        wanted = min(at_once, limit + 1 - len(found))
        more = await read(wanted, found[-1] if found else None)
        found += more
        if len(more) < wanted:
            return found[:limit], len(found) > limit
        weight = sum(map(weigh, more))
        size += weight
        at_once = min(at_once * 2, MOST) if weight < SMALL else FEWEST
    return found[:limit], True  # full by its bytes: whether there is more, the next page tells
