"""Searching lists of jobs and failures: pages are read and compared, up to a bound."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 500
MOST_LOOKED_AT: Final = 5_000
"""Items that one search compares; the answer then says where to go on."""


async def search(
    read: Callable[[int, T | None], Awaitable[Sequence[T]]], matches: Callable[[T], bool], *, limit: int
) -> tuple[list[T], T | None]:
    """Return up to `limit` items that match, and the item behind which a further search goes on; None at the end.

    `read` returns so many of the items that follow the given one, or the first if that is None.
    """
    found: list[T] = []
    last: T | None = None
    for _ in range(MOST_LOOKED_AT // AT_ONCE):
        items = await read(AT_ONCE, last)
        for item in items:
            if matches(item):
                found.append(item)
                if len(found) == limit:
                    return found, item
        if len(items) < AT_ONCE:
            return found, None
        last = items[-1]
    return found, last
