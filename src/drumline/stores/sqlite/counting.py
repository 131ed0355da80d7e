"""Counting tasks by status, within bounds."""

import sqlite3

from drumline.core.attempt import AttemptOutcome
from drumline.core.state import Status
from drumline.ports.counting import Count, count_up_to
from drumline.stores.sqlite.access import Access
from drumline.stores.sqlite.statements import SQL

ENDS = (
    (Status.COMPLETED, AttemptOutcome.COMPLETED),
    (Status.FAILED, AttemptOutcome.FAILED),
    (Status.CANCELLED, AttemptOutcome.CANCELLED),
    (Status.SKIPPED, AttemptOutcome.SKIPPED),
)


class Counting(Access):
    """`ports.counting.Counting` on SQLite."""

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
        which = {"tenant": tenant, "queue": queue, "name": name}
        now, most = self._now(), looked_at or limit

        def look(connection: sqlite3.Connection) -> dict[Status, Count]:
            live = connection.execute(SQL["count_live"], {**which, "now": now, "limit": limit}).fetchone()
            queued, later, blocked, processing = live
            counts = {
                Status.PENDING: count_up_to(limit, later + blocked),
                Status.QUEUED: count_up_to(limit, queued),
                Status.PROCESSING: count_up_to(limit, processing),
            }
            for status, outcome in ENDS:
                wanted = {**which, "outcome": int(outcome), "limit": most}
                found, looked = connection.execute(SQL["count_ended"], wanted).fetchone()
                counts[status] = Count(found, looked >= most)
            return counts

        return await self._database.read(look)
