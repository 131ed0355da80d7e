"""Lanes as numbers: interned once, remembered by the process."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from drumline.core.codec import encode
from drumline.core.task import Lane
from drumline.stores.driver import Line, Transaction
from drumline.stores.sqlite.database import Database, connection_of
from drumline.stores.sqlite.statements import SQL


class Lanes:
    """Translates between lanes and their numbers. Those that are new get one inside an act only."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.on_rollback(self.forget)
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

    def lanes_in(self, connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, Lane]:
        """Return the lanes behind numbers, inside an act."""
        wanted = set(numbers)
        unknown = wanted - self._lanes.keys()
        if unknown:
            for number, *words in connection.execute(SQL["lane_names"], {"lanes": encode(sorted(unknown)).decode()}):
                self._remember(number, Lane(*words))
        return {number: self._lanes[number] for number in wanted}

    async def numbers_in_order(self, lanes: Sequence[Lane], transaction: Transaction | None = None) -> list[int]:
        """Return the number of each lane, giving one to those that are new."""
        connection = connection_of(transaction)
        return [self.number(connection, lane) for lane in lanes]

    async def lanes(self, numbers: Iterable[int], transaction: Transaction | None = None) -> Mapping[int, Lane]:
        """Return the lanes behind numbers."""
        wanted = set(numbers)
        if transaction is not None:
            return self.lanes_in(connection_of(transaction), wanted)
        # Not in the writer thread, which may forget at any time; what is read here has been committed.
        known = {number: lane for number in wanted if (lane := self._lanes.get(number)) is not None}
        if unknown := sorted(wanted - known.keys()):
            rows = await self._database.fetch(Line.REQUEST, "lane_names", lanes=unknown)
            known |= {number: Lane(*words) for number, *words in rows}
            self._lanes |= known
        return known

    def _remember(self, number: int, lane: Lane) -> None:
        self._numbers[lane] = number
        self._lanes[number] = lane
