"""Lanes as numbers: interned once, remembered by the process."""

import sqlite3
from collections.abc import Iterable

from drumline.core.codec import encode
from drumline.core.task import Lane
from drumline.stores.sqlite.statements import SQL


class Lanes:
    """Translates between lanes and their numbers. Used only inside acts."""

    def __init__(self) -> None:
        self._numbers: dict[Lane, int] = {}
        self._lanes: dict[int, Lane] = {}

    def forget(self) -> None:
        """Remember nothing: a rollback may have taken new lanes back."""
        self._numbers.clear()
        self._lanes.clear()

    def number(self, connection: sqlite3.Connection, lane: Lane) -> int:
        """Return a lane's number, giving it one if it is new."""
        number = self._numbers.get(lane)
        if number is None:
            words = (lane.tenant, lane.queue, lane.name, lane.priority)
            connection.execute(SQL["insert_lane"], words)
            (number,) = connection.execute(SQL["lane_number"], words).fetchone()
            self._remember(number, lane)
        return number

    def lanes(self, connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, Lane]:
        """Return the lanes behind numbers."""
        wanted = set(numbers)
        unknown = wanted - self._lanes.keys()
        if unknown:
            for number, *words in connection.execute(SQL["lane_names"], {"lanes": encode(sorted(unknown)).decode()}):
                self._remember(number, Lane(*words))
        return {number: self._lanes[number] for number in wanted}

    def _remember(self, number: int, lane: Lane) -> None:
        self._numbers[lane] = number
        self._lanes[number] = lane
