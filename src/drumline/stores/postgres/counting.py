"""Counting tasks by status, within bounds."""

from typing import Final

from drumline.core.attempt import AttemptOutcome
from drumline.core.state import Status
from drumline.ports.counting import Count, count_up_to
from drumline.ports.store import TaskFilter
from drumline.stores.driver import Line
from drumline.stores.parts.tasks import lanes_matching
from drumline.stores.postgres.access import Access

MOST_CLAIMED: Final = 40_000
"""Claimed tasks that are looked at to count those that run: what workers took since their last two heartbeats or so."""
ENDS: Final = (Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.SKIPPED)


class Counting(Access):
    """`ports.counting.Counting` on PostgreSQL."""

    async def count_tasks(
        self,
        *,
        limit: int,
        looked_at: int | None = None,
        tenant: str | None = None,
        queue: str | None = None,
        name: str | None = None,
    ) -> dict[Status, Count]:
        """Return how many tasks have each status, counting each up to `limit`, however many others there are."""
        lanes = await lanes_matching(self._database, TaskFilter(tenant=tenant, queue=queue, name=name))
        ((queued, later, blocked, processing, claimed),) = await self._database.fetch(
            Line.DESK,
            "count_live",
            repeat=True,
            lanes=lanes,
            now=self._now(),
            limit=limit,
            looked=MOST_CLAIMED,
        )
        counts = {
            Status.PENDING: count_up_to(limit, later + blocked),
            Status.QUEUED: count_up_to(limit, queued),
            Status.PROCESSING: count_up_to(limit, processing, is_more=claimed >= MOST_CLAIMED),
            **dict.fromkeys(ENDS, Count(0)),
        }
        most = looked_at or limit
        rows = await self._database.fetch(Line.BROAD, "count_ended", repeat=True, lanes=lanes, limit=most)
        for outcome, found, seen in rows:
            counts[Status[AttemptOutcome(outcome).name]] = Count(found, seen >= most)
        return counts
