"""Limits how many lanes a database gets: combinations of tenant, queue, task name and priority.

A lane is a row that stays, and claims look for tasks lane by lane. A program that makes a name or a queue of each order
or customer would make them without end. Of all lanes a tenant gets a part, so that it does not use up those of others.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from drumline.core.clock import Clock
from drumline.core.errors import Invalid
from drumline.core.limits import Limits
from drumline.core.task import Lane, NewTask
from drumline.core.tenant import is_default

MOST_KNOWN: Final = 50_000
"""Lanes that are remembered as accepted; beyond that all of them are forgotten."""
COUNT_EVERY: Final = 60.0
"""Seconds after which lanes are counted again, while there is room for many."""
NONE: Final[frozenset[Lane]] = frozenset()


class LaneQueries(Protocol):
    """What a store tells of its lanes."""

    async def count_lanes(self, *, up_to: int, tenant: str | None = None) -> int:
        """Return how many lanes there are, or a tenant has; up to `up_to` perhaps too many: unused numbers count."""
        ...

    async def existing_lanes(self, lanes: Iterable[Lane]) -> frozenset[Lane]:
        """Return those of some lanes that there are."""
        ...


class LaneCount:
    """How many lanes there are, or a tenant has, as far as this process knows."""

    def __init__(self, queries: LaneQueries, most: int, clock: Clock, tenant: str | None = None) -> None:
        self.most = most
        self.count = most
        self._queries = queries
        self._clock = clock
        self._tenant = tenant
        self._counted_until = float("-inf")

    async def room_for(self, new: int) -> int | None:
        """Return how many more there may be; None if there is room for all of the new ones."""
        if self.count + new > self.most // 2 or self._clock.monotonic() >= self._counted_until:
            self.count = await self._queries.count_lanes(up_to=self.most - new, tenant=self._tenant)
            self._counted_until = self._clock.monotonic() + COUNT_EVERY
        return max(self.most - self.count, 0) if self.count + new > self.most else None


class LaneLimit:
    """Decides which lanes may be made. Several processes may exceed the limit by what they make at the same time."""

    def __init__(self, queries: LaneQueries, limits: Limits, clock: Clock) -> None:
        self._queries = queries
        self._most_of_tenant = limits.tenant_lanes
        self._clock = clock
        self._known: set[Lane] = set()
        self._all = LaneCount(queries, limits.lanes, clock)
        self._tenants: dict[str, LaneCount] = {}
        """Only while all lanes are more than a tenant gets."""

    def has_new(self, tasks: Iterable[NewTask]) -> bool:
        """Tell whether some of these tasks have lanes that are not known to exist."""
        return not self._known.issuperset([task.lane for task in tasks])

    async def refused(self, lanes: Iterable[Lane]) -> dict[Lane, Invalid]:
        """Return those of some lanes that would be too many, with the reason; lanes that exist are never refused."""
        new = set(lanes).difference(self._known)
        if not new:
            return {}
        refused = {lane: self._error(lane) for lane in await self._beyond(self._all, new)}
        if self._all.count + len(new) > self._most_of_tenant:
            for tenant in sorted({lane.tenant for lane in new if not is_default(lane.tenant)}):
                own = {lane for lane in new.difference(refused) if lane.tenant == tenant}
                refused |= {lane: self._error_of_tenant(lane) for lane in await self._beyond(self._of(tenant), own)}
        self._accept(new.difference(refused))
        return refused

    async def _beyond(self, count: LaneCount, new: set[Lane]) -> frozenset[Lane]:
        """Return those of some lanes for which there is no room."""
        room = await count.room_for(len(new))
        if room is None:
            return NONE
        absent = new - await self._queries.existing_lanes(new)
        return frozenset(sorted(absent, key=_words)[room:])

    def _of(self, tenant: str) -> LaneCount:
        if tenant not in self._tenants:
            if len(self._tenants) >= MOST_KNOWN:
                self._tenants.clear()
            self._tenants[tenant] = LaneCount(self._queries, self._most_of_tenant, self._clock, tenant)
        return self._tenants[tenant]

    def _error(self, lane: Lane) -> Invalid:
        return _too_many(
            lane,
            f"there are {self._all.most:,} combinations of tenant, queue, task name and priority, as many as there may"
            " be (limits.lanes)",
        )

    def _error_of_tenant(self, lane: Lane) -> Invalid:
        return _too_many(
            lane,
            f"the tenant {lane.tenant!r} has {self._most_of_tenant:,} combinations of queue, task name and priority, as"
            " many as a tenant may have (limits.tenant_lanes)",
        )

    def _accept(self, lanes: set[Lane]) -> None:
        if len(self._known) + len(lanes) > MOST_KNOWN:
            self._known.clear()
        self._known |= lanes
        self._all.count += len(lanes)
        for lane in lanes:
            if (own := self._tenants.get(lane.tenant)) is not None:
                own.count += 1


def _too_many(lane: Lane, reason: str) -> Invalid:
    """Return what those are told who would make a lane too many."""
    return Invalid(
        f"{lane.name!r} in the queue {lane.queue!r} would be new: {reason}. Put what varies into the payload or into"
        " tags",
        field="name",
        code="too_many",
    )


def _words(lane: Lane) -> tuple[str, str, str, int]:
    return lane.tenant, lane.queue, lane.name, lane.priority
