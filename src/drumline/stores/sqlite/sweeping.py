"""What a queue that has lost its hints is made whole from."""

import sqlite3
from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.store import Hint
from drumline.stores.sqlite.part import SqlitePart
from drumline.stores.sqlite.statements import SQL


class Sweeping(SqlitePart):
    """`ports.store.Sweeping` on SQLite."""

    async def upcoming(
        self,
        *,
        due_before: Instant,
        per_lane: int,
        due_after: Instant | None = None,
        lanes: Sequence[Lane] | None = None,
    ) -> list[Hint]:
        """Return the earliest queued tasks of every lane, or of those named, at most `per_lane` of each."""
        wanted = None if lanes is None else frozenset(lanes)
        span = {"due_after": 0 if due_after is None else due_after, "due_before": due_before, "limit": per_lane}

        def look(connection: sqlite3.Connection) -> list[Hint]:
            return [
                Hint(TaskId(task), lane, Instant(due_at))
                for number, lane in _lanes(connection)
                if wanted is None or lane in wanted
                for task, due_at in connection.execute(SQL["upcoming_in_lane"], {"lane": number, **span})
            ]

        return await self._database.read(look)

    async def waiting_tasks(self, *, due_before: Instant, limit: int) -> list[tuple[TaskId, State]]:
        """Return up to `limit` queued tasks due before a time, and up to `limit` that are blocked, in any order."""
        span = {"due_before": due_before, "limit": limit}
        rows = await self._database.read(lambda connection: connection.execute(SQL["waiting_tasks"], span).fetchall())
        return [(TaskId(task), State(state)) for task, state in rows]

    async def paused_queues(self) -> list[tuple[str, str]]:
        """Return the queues that are paused, as tenant and queue."""
        return await self._database.read(lambda connection: connection.execute(SQL["paused_queues"]).fetchall())


def _lanes(connection: sqlite3.Connection) -> list[tuple[int, Lane]]:
    return [(number, Lane(*words)) for number, *words in connection.execute(SQL["lanes"]).fetchall()]
