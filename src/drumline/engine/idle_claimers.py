"""Claimers that may be woken, in the order in which they began to wait, found by queue and by kind.

Thousands may wait that serve other queues: finding who serves one costs what is found, not what waits.
"""

from collections import OrderedDict
from collections.abc import Iterator
from heapq import merge
from itertools import count, islice
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from drumline.engine.waiting import Kind, Waiter

K = TypeVar("K")

_place = attrgetter("place")


class IdleClaimers:
    """An ordered set of claimers, with an index by each queue that they serve and one by kind."""

    def __init__(self) -> None:
        self._all: OrderedDict[Waiter, None] = OrderedDict()
        self._of_every_queue: OrderedDict[Waiter, None] = OrderedDict()
        self._by_queue: dict[str, OrderedDict[Waiter, None]] = {}
        self._by_kind: dict[Kind, OrderedDict[Waiter, None]] = {}
        self._places = count()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._all)

    def __iter__(self) -> "Iterator[Waiter]":
        """Return all of them."""
        return iter(self._all)

    def __contains__(self, waiter: "Waiter") -> bool:
        """Tell whether a claimer is one of them."""
        return waiter in self._all

    def add(self, waiter: "Waiter") -> None:
        """Add a claimer at the end; one that is there keeps its place."""
        if waiter in self._all:
            return
        waiter.place = next(self._places)
        self._all[waiter] = None
        self._by_kind.setdefault(waiter.kind, OrderedDict())[waiter] = None
        if not waiter.queues:
            self._of_every_queue[waiter] = None
        for queue in waiter.queues:
            self._by_queue.setdefault(queue, OrderedDict())[waiter] = None

    def discard(self, waiter: "Waiter") -> None:
        """Take a claimer away, if it is there."""
        if waiter not in self._all:
            return
        del self._all[waiter]
        _discard(self._by_kind, waiter.kind, waiter)
        self._of_every_queue.pop(waiter, None)
        for queue in dict.fromkeys(waiter.queues):
            _discard(self._by_queue, queue, waiter)

    def serving(self, queue: str, limit: int) -> "list[Waiter]":
        """Return those who serve a queue, longest waiting first."""
        those: OrderedDict[Waiter, None] | None = self._by_queue.get(queue)
        if those is None:
            return list(islice(self._of_every_queue, limit))
        return list(islice(merge(those, self._of_every_queue, key=_place), limit))

    def of_kind(self, kind: "Kind", limit: int) -> "list[Waiter]":
        """Return those of a kind, longest waiting first."""
        return list(islice(self._by_kind.get(kind, ()), limit))

    def by_kind(self, kinds: int, limit: int) -> "list[list[Waiter]]":
        """Return of so many kinds those who have waited longest."""
        return [list(islice(those, limit)) for those in islice(self._by_kind.values(), kinds)]


def _discard(index: "dict[K, OrderedDict[Waiter, None]]", key: K, waiter: "Waiter") -> None:
    those = index[key]
    del those[waiter]
    if not those:
        del index[key]
