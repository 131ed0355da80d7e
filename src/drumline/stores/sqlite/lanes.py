"""Lanes as numbers: interned once, remembered by the process."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from drumline.core.codec import encode
from drumline.core.task import Lane
from drumline.stores.driver import Line, Transaction
from drumline.stores.lane_cache import LaneCache
from drumline.stores.sqlite.database import Database, connection_of
from drumline.stores.sqlite.statements import SQL


class Lanes:
    """Translates between lanes and their numbers. Those that are new get one inside an act only."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.on_rollback(self.forget)
        self._cache = LaneCache()

    def forget(self) -> None:
        """Remember nothing: a rollback may have taken new lanes back."""
        self._cache.clear()

    def number(self, connection: sqlite3.Connection, lane: Lane) -> int:
        """Return a lane's number, giving it one if it is new."""
        number = self._cache.numbers.get(lane)
        if number is None:
            words = (lane.tenant, lane.queue, lane.name, lane.priority)
            connection.execute(SQL["insert_lane"], words)
            (number,) = connection.execute(SQL["lane_number"], words).fetchone()
            self._cache.remember(number, lane)
        return number

    def lanes_in(self, connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, Lane]:
        """Return the lanes behind numbers, inside an act."""
        wanted = set(numbers)
        found = self._cache.known(wanted)
        unknown = wanted - found.keys()
        if unknown:
            for number, *words in connection.execute(SQL["lane_names"], {"lanes": encode(sorted(unknown)).decode()}):
                found[number] = Lane(*words)
                self._cache.remember(number, found[number])
        return found

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
        known = self._cache.known(wanted)
        if unknown := sorted(wanted - known.keys()):
            rows = await self._database.fetch(Line.REQUEST, "lane_names", lanes=unknown)
            for number, *words in rows:
                known[number] = Lane(*words)
                self._cache.remember(number, known[number])
        return known
