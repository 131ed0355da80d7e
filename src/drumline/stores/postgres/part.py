"""What every part of the store shares: the database, the lanes, the cursors, the clock."""

from collections.abc import Sequence

from drumline.core.clock import Clock
from drumline.stores.driver import Part
from drumline.stores.postgres.cursors import Cursors, Floor
from drumline.stores.postgres.database import Database
from drumline.stores.postgres.following import PostgresFollowing
from drumline.stores.postgres.lanes import Lanes


class PostgresPart(Part):
    """The base of the modules that are written for PostgreSQL."""

    _database: Database
    _lanes: Lanes

    def __init__(self, database: Database, clock: Clock | None) -> None:
        super().__init__(database, clock, Lanes(database))
        self._cursors = Cursors()
        self._following = PostgresFollowing(database, clock, self._lanes, self._cursors)
        self._floor = Floor()
        self._are_tenants = False
        self._tenants_at = float("-inf")
        self._keys_seen: dict[int, int] = {}
        """The last key of each lane with keys that a claim has looked at, where there were too many for one look."""


def column(name: str, values: Sequence[object]) -> dict[str, object]:
    """Return a column of values as the two parameters `name` and `usual_name`.

    When all values are equal, the array is empty and the usual value stands for each of them: encoding and reading
    elements is a good part of what a batch costs.
    """
    if values and values.count(values[0]) == len(values):
        return {name: (), f"usual_{name}": values[0]}
    return {name: values, f"usual_{name}": None}
