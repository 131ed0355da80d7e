"""Lanes as numbers: interned once, remembered by the process. A lane is never deleted or changed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drumline.core.task import Lane
from drumline.stores.driver import Line, Transaction
from drumline.stores.lane_cache import LaneCache
from drumline.stores.postgres.connection import Rows
from drumline.stores.postgres.database import Database


class Lanes:
    """Translates between lanes and their numbers.

    What it has to ask goes over the line of submissions, which waits for no other: so it may be asked from within a
    transaction on any other line.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache = LaneCache()
        self.tenants: set[str] = set()
        """Those whose lanes were met."""

    async def numbers(self, lanes: Iterable[Lane]) -> Mapping[Lane, int]:
        """Return the numbers of lanes, giving one to those that are new.

        That is a transaction of its own: a lane that nobody uses after all does no harm, and a number that was
        remembered can never be taken back.
        """
        wanted = set(lanes)
        known = self._cache.numbers
        found = {lane: known[lane] for lane in wanted if lane in known}
        unknown = wanted - found.keys()
        if unknown:
            found |= await self._intern(unknown)
        return found

    async def numbers_in_order(self, lanes: Sequence[Lane], transaction: Transaction | None = None) -> list[int]:
        """Return the number of each of many lanes. They are alike mostly: each is looked up once."""
        del transaction  # see `numbers`
        try:
            return [self._cache.numbers[lane] for lane in lanes]
        except KeyError:
            numbers = await self.numbers(lanes)
            return [numbers[lane] for lane in lanes]

    async def lanes(self, numbers: Iterable[int], transaction: Transaction | None = None) -> Mapping[int, Lane]:
        """Return the lanes behind numbers."""
        del transaction
        wanted = set(numbers)
        found = self._cache.known(wanted)
        unknown = wanted - found.keys()
        if unknown:
            rows = await self._database.fetch(Line.SUBMIT, "lane_names", repeat=True, lanes=sorted(unknown))
            found |= {number: lane for lane, number in self._remember(rows).items()}
        return found

    async def _intern(self, lanes: set[Lane]) -> dict[Lane, int]:
        unknown = sorted(lanes, key=lambda lane: (lane.tenant, lane.queue, lane.name, lane.priority))
        words: dict[str, Any] = {
            "tenants": [lane.tenant for lane in unknown],
            "queues": [lane.queue for lane in unknown],
            "names": [lane.name for lane in unknown],
            "priorities": [lane.priority for lane in unknown],
        }
        # Look first: inserting what is there already would use up numbers.
        rows = await self._database.fetch(Line.SUBMIT, "lane_numbers", repeat=True, **words)
        if len(rows) < len(unknown):
            await self._database.fetch(Line.SUBMIT, "insert_lanes", repeat=True, **words)
            rows = await self._database.fetch(Line.SUBMIT, "lane_numbers", repeat=True, **words)
        return self._remember(rows)

    def _remember(self, rows: Rows) -> dict[Lane, int]:
        found: dict[Lane, int] = {}
        for number, *words in rows:
            lane = Lane(*words)
            found[lane] = number
            self._cache.remember(number, lane)
            self.tenants.add(lane.tenant)
        return found
