"""How many tasks stand where: exact while they are few, "so many and more" when they are not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from drumline.core.clock import Clock
from drumline.core.state import Status
from drumline.core.task import TaskView
from drumline.ports.query import Count, Querying, TaskFilter

MOST: Final = 10_000
"""How many tasks of a status are counted."""
MOST_LOOKED_AT: Final = 40_000
"""How many ends are looked at where only some of them are meant."""
MOST_LISTED: Final = 1_000
"""How many are counted by listing them, for filters that no index counts by."""


class TaskCounts:
    """Counting tasks, for people who want to know whether it is worth looking."""

    def __init__(self, queries: Querying, clock: Clock) -> None:
        self._queries = queries
        self._clock = clock

    async def count(self, which: TaskFilter) -> Mapping[Status, Count]:
        """Return how many tasks of a filter have each status; which statuses it names does not matter."""
        listed = (
            which.tag,
            which.idempotency_key,
            which.worker,
            which.job,
            which.finished_since,
            which.since,
            which.until,
            which.also,
        )
        if any(value is not None for value in listed):
            return await self._listed(which)
        is_narrowed = any(value is not None for value in (which.tenant, which.queue, which.name))
        counts = await self._queries.count_tasks(
            limit=MOST + 1,
            looked_at=MOST_LOOKED_AT if is_narrowed else MOST + 1,
            tenant=which.tenant,
            queue=which.queue,
            name=which.name,
        )
        return {status: _bounded(count) for status, count in counts.items()}

    async def _listed(self, which: TaskFilter) -> Mapping[Status, Count]:
        everything = replace(which, statuses=frozenset())
        if which.also is not None:
            searched = await self._queries.search_tasks(everything, limit=MOST_LISTED, errors=False)
            return self._counted(searched.tasks, is_more=searched.rest is not None)
        views = await self._queries.list_tasks(everything, limit=MOST_LISTED + 1, errors=False)
        return self._counted(views[:MOST_LISTED], is_more=len(views) > MOST_LISTED)

    def _counted(self, views: Sequence[TaskView], *, is_more: bool) -> Mapping[Status, Count]:
        now = self._clock.now()
        found = Counter(view.status(now) for view in views)
        return {status: Count(found[status], is_more) for status in Status}


def _bounded(count: Count) -> Count:
    return Count(MOST, is_more=True) if count.count > MOST else count
