"""Counting tasks by status, within bounds."""

from typing import Final

from drumline.backends.postgres.listing import Listing
from drumline.core.attempt import AttemptOutcome
from drumline.core.state import Status
from drumline.ports.counting import Count
from drumline.ports.store import TaskFilter
from drumline.stores.driver import Line

ENDS: Final = (Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.SKIPPED)


class Counting(Listing):
    """`ports.counting.Counting` on PostgreSQL."""

    async def count_tasks(
        self, *, limit: int, tenant: str | None = None, queue: str | None = None, name: str | None = None
    ) -> dict[Status, Count]:
        """Return how many tasks have each status, looking at no more than the newest `limit` of it."""
        lanes = await self._lanes_of(TaskFilter(tenant=tenant, queue=queue, name=name))
        ((pending, queued, processing, looked),) = await self._database.fetch(
            Line.BROAD, "count_live", repeat=True, lanes=lanes, now=self._now(), limit=limit
        )
        is_more = looked >= limit
        counts = {
            Status.PENDING: Count(pending, is_more),
            Status.QUEUED: Count(queued, is_more),
            Status.PROCESSING: Count(processing, is_more),
            **dict.fromkeys(ENDS, Count(0)),
        }
        rows = await self._database.fetch(Line.BROAD, "count_ended", repeat=True, lanes=lanes, limit=limit)
        for outcome, found, seen in rows:
            counts[Status[AttemptOutcome(outcome).name]] = Count(found, seen >= limit)
        return counts
