"""Ids of tasks that this process submits in transactions: they rise, so that tasks keep their order."""

import os
from functools import cache
from random import Random
from threading import Lock

from drumline.core.clock import SystemClock
from drumline.core.ids import IdSource, TaskId
from drumline.core.slots import OpenSlots


class SharedIds:
    """A source of ids for any thread."""

    def __init__(self) -> None:
        self._source = new_source()
        self._lock = Lock()

    def next(self, slot: int | None = None) -> TaskId:
        """Return an id above all that were returned before, in a slot if one is named."""
        with self._lock:
            return self._source.next(slot)

    def take_in(self, slot: int, count: int) -> list[TaskId]:
        """Return as many ids of a slot, in their order."""
        with self._lock:
            return self._source.take_in(slot, count)

    def version(self, id: str) -> int:
        """Return the version of the entry of the map by which an id is made: there is no map."""
        return self._source.version(id)


def new_source(slots: OpenSlots | None = None) -> IdSource:
    """Return a source of ids in these slots."""
    source = IdSource(SystemClock().now, Random())  # noqa: S311 - ids are unique, not secret
    if slots is not None:
        source.open = slots
    return source


def shared_ids() -> SharedIds:
    """Return the source of this process; a forked child has its own."""
    return _shared(os.getpid())


@cache
def _shared(_pid: int) -> SharedIds:
    return SharedIds()
