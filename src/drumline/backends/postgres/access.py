"""What every part of the store shares: the database, the lanes, the cursors, the clock."""

from collections.abc import Sequence
from typing import TypeVar

from drumline.backends.postgres.cursors import Cursors
from drumline.backends.postgres.database import Database, Line
from drumline.backends.postgres.lanes import Lanes
from drumline.core.clock import Clock, Instant

T = TypeVar("T")


class Access:
    """The ground that the parts of the store stand on."""

    def __init__(self, database: Database, clock: Clock | None) -> None:
        self._database = database
        self._lanes = Lanes(database)
        self._cursors = Cursors()
        self._clock = clock

    def _now(self) -> Instant | None:
        """Return the time that a test gave; None lets the database's own clock decide."""
        return None if self._clock is None else self._clock.now()

    async def _time(self) -> Instant:
        """Return the store's time."""
        given = self._now()
        if given is not None:
            return given
        ((now,),) = await self._database.fetch(Line.DESK, "now", repeat=True, now=None)
        return Instant(now)


def column(values: Sequence[T | None]) -> Sequence[T | None]:
    """Return values as an array for the server; if there are none at all, an empty one says so in fewer bytes."""
    return values if values.count(None) < len(values) else ()
