"""Puts lists of several shards together."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from drumline.shards.asking import Router

T = TypeVar("T")


class Part:
    """An aggregate over several stores."""

    def __init__(self, router: Router) -> None:
        self._router = router


class Identified(Protocol):
    """Something that is listed by its id."""

    @property
    def id(self) -> str:
        """Its id."""
        ...


Listed = TypeVar("Listed", bound=Identified)


def newest(lists: Iterable[Sequence[Listed]], *, limit: int) -> list[Listed]:
    """Return the first of several lists that are sorted by id downwards; what two shards have is listed once.

    Two have it while it is moved from one to the other, and was read at both.
    """
    return merged(lists, limit=limit, key=lambda each: each.id)


def merged(lists: Iterable[Sequence[T]], *, limit: int, key: Callable[[T], Any]) -> list[T]:
    """Return the first of several lists that are sorted downwards by a key that is different for each item."""
    return list(islice(_distinct(heapq.merge(*lists, key=key, reverse=True), key), limit))


def _distinct(items: Iterable[T], key: Callable[[T], Any]) -> Iterable[T]:
    last: object = None
    for item in items:
        if key(item) != last:
            yield item
        last = key(item)


def earliest(moments: Iterable[T | None]) -> T | None:
    """Return the smallest of those that there are."""
    return min((each for each in moments if each is not None), default=None)  # type: ignore[type-var]
