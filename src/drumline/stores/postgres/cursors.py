"""Where a claim begins to look in each lane.

The index on (lane, due_at, id) also has the tasks that are running, and those that ended since the last vacuum:
they lie before the ones that wait, and with a transaction open for hours there may be millions. So a claim that
chooses by itself begins where the last one of this process began to find. What became due behind that place (put
back by another process, or submitted for a time in the past) is found by a look at everything: whenever a claim
finds less than it wants, and at least each second. Only if such looks have become slow are they rationed.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

MOST_LANES: Final = 64
LOOK_EVERY: Final = 1.0
"""Seconds after which a look at everything is due, even for those who find enough."""
QUICK: Final = 0.05
"""A look at everything that takes no longer than this is always allowed, in seconds."""
SHARE: Final = 20
"""A slower one only after this many times its own length."""


class LanePosition(NamedTuple):
    """A place in a lane."""

    due_at: int
    task: str


class Cursors:
    """The places of one process."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._places: dict[int, LanePosition] = {}
        self._looked_at = 0.0
        self._last_took = 0.0
        self._look_took = 0.0

    def places(self) -> dict[int, LanePosition]:
        """Return where to begin, by lane; nothing at all when a look at everything is due."""
        if not self._places or self._since_look() > max(LOOK_EVERY, SHARE * self._look_took):
            return {}
        return dict(self._places)

    def may_look(self) -> bool:
        """Tell whether someone who found too little may look at everything."""
        return self._look_took <= QUICK or self._since_look() > SHARE * self._look_took

    def looked(self, began: float) -> None:
        """Note a look at everything that began at a (monotonic) time."""
        self._looked_at = self._monotonic()
        took = self._looked_at - began
        # One slow look may be a cold cache or a busy machine; two in a row are the table.
        self._look_took = min(took, self._last_took)
        self._last_took = took

    def found(self, firsts: dict[int, LanePosition]) -> None:
        """Note the first place in each lane where something was found."""
        for lane, place in firsts.items():
            self._places.pop(lane, None)
            self._places[lane] = place
        while len(self._places) > MOST_LANES:
            del self._places[next(iter(self._places))]

    def queued(self, lane: int, place: LanePosition) -> None:
        """Note that this process has let a task wait at a place, which may lie before where claims begin."""
        known = self._places.get(lane)
        if known is not None and place < known:
            self._places[lane] = place

    def _since_look(self) -> float:
        return self._monotonic() - self._looked_at


class Floor:
    """Where the sweep begins to look in every lane.

    It meets the same dead entries. So while looks at everything are slow, there is one now and then, and those in
    between begin where that one found the first task. A task that was put back behind it waits for the next.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._due_at = 0
        self._looked_at = 0.0
        self._took = 0.0

    def due_at(self) -> int:
        """Return the due time to begin with; 0 when a look at everything is due, or cheap."""
        is_rationed = self._took > QUICK and self._monotonic() - self._looked_at <= SHARE * self._took
        return self._due_at if is_rationed else 0

    def looked(self, began: float, first: int) -> None:
        """Note a look at everything that began at a (monotonic) time, and when the first task it found is due."""
        self._looked_at = self._monotonic()
        self._took = self._looked_at - began
        self._due_at = first
