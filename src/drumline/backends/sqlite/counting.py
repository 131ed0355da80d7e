"""Counting tasks by status, within bounds."""

import sqlite3

from drumline.backends.sqlite.access import Access
from drumline.backends.sqlite.statements import SQL
from drumline.core.attempt import AttemptOutcome
from drumline.core.state import Status
from drumline.ports.counting import Count

ENDS = (
    (Status.COMPLETED, AttemptOutcome.COMPLETED),
    (Status.FAILED, AttemptOutcome.FAILED),
    (Status.CANCELLED, AttemptOutcome.CANCELLED),
    (Status.SKIPPED, AttemptOutcome.SKIPPED),
)


class Counting(Access):
    """`ports.counting.Counting` on SQLite."""

    async def count_tasks(
        self, *, limit: int, tenant: str | None = None, queue: str | None = None, name: str | None = None
    ) -> dict[Status, Count]:
        """Return how many tasks have each status, looking at no more than the newest `limit` of it."""
        which = {"tenant": tenant, "queue": queue, "name": name, "limit": limit}
        now = self._now()

        def look(connection: sqlite3.Connection) -> dict[Status, Count]:
            pending, queued, processing, looked = connection.execute(
                SQL["count_live"], {**which, "now": now}
            ).fetchone()
            is_more = looked >= limit
            counts = {
                Status.PENDING: Count(pending, is_more),
                Status.QUEUED: Count(queued, is_more),
                Status.PROCESSING: Count(processing, is_more),
            }
            for status, outcome in ENDS:
                row = connection.execute(SQL["count_ended"], {**which, "outcome": int(outcome)}).fetchone()
                counts[status] = Count(row[0], row[1] >= limit)
            return counts

        return await self._database.read(look)
