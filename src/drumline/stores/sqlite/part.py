"""What the modules of this store share: the database, the lanes and the clock."""

from typing import Any

from drumline.core.clock import Clock, Instant
from drumline.stores.driver import Part
from drumline.stores.sqlite.database import Database
from drumline.stores.sqlite.following import SqliteFollowing
from drumline.stores.sqlite.lanes import Lanes
from drumline.stores.sqlite.statements import SQL


class SqlitePart(Part):
    """The base of the modules that are written for SQLite."""

    _database: Database
    _lanes: Lanes
    _clock: Clock

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, Lanes(database))
        self._following = SqliteFollowing(database, clock, self._lanes)
        self._keys_seen: dict[int, int] = {}
        """The last key of each lane with keys that a claim has looked at, where there were too many for one look."""

    def _now(self) -> Instant:
        return self._clock.now()

    async def _change(self, name: str, parameters: dict[str, Any] | tuple[Any, ...]) -> int:
        """Run one statement in a transaction of its own, and return how many rows it changed."""
        return await self._database.write(lambda connection: connection.execute(SQL[name], parameters).rowcount)
