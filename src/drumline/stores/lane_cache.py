"""Lanes and their numbers, as far as a process remembers them.

Users choose queues and names of tasks, so there may be millions of lanes; those that were not met for longest are
forgotten, and asked for again when they come back.
"""

from collections.abc import Iterable
from itertools import islice
from threading import Lock
from typing import Final

from drumline.core.task import Lane

MOST_LANES: Final = 50_000
"""Lanes that are remembered: some 20 MB."""
SHARE: Final = 10
"""One in so many is forgotten when there are too many, so that it is not done for each new one."""


class LaneCache:
    """A bounded memory of lanes, by number and by name."""

    def __init__(self, most: int = MOST_LANES) -> None:
        self._most = most
        self._lock = Lock()
        self.numbers: dict[Lane, int] = {}
        self._lanes: dict[int, Lane] = {}

    def __len__(self) -> int:
        return len(self._lanes)

    def known(self, numbers: Iterable[int]) -> dict[int, Lane]:
        """Return the lanes behind numbers, as far as they are remembered."""
        get = self._lanes.get  # another thread may forget one at any time
        return {number: lane for number in numbers if (lane := get(number)) is not None}

    def remember(self, number: int, lane: Lane) -> None:
        """Remember a lane, and forget those that were met first if there are too many."""
        with self._lock:
            self.numbers[lane] = number
            self._lanes[number] = lane
            if len(self._lanes) > self._most:
                for old in list(islice(self._lanes, max(self._most // SHARE, 1))):
                    self.numbers.pop(self._lanes.pop(old), None)

    def clear(self) -> None:
        """Remember nothing."""
        with self._lock:
            self.numbers.clear()
            self._lanes.clear()
