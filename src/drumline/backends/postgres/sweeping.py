"""What a queue that has lost its hints is made whole from."""

from collections.abc import Sequence

from drumline.backends.postgres.access import Access
from drumline.backends.postgres.database import Line
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.task import Lane
from drumline.ports.store import Hint


class Sweeping(Access):
    """`ports.store.Sweeping` on PostgreSQL."""

    async def upcoming(
        self,
        *,
        due_before: Instant,
        per_lane: int,
        due_after: Instant | None = None,
        lanes: Sequence[Lane] | None = None,
    ) -> list[Hint]:
        """Return the earliest queued tasks of every lane, or of those named, at most `per_lane` of each."""
        numbers = None if lanes is None else await self._lanes.numbers(lanes)
        rows = await self._database.fetch(
            Line.BROAD,
            "upcoming",
            repeat=True,
            due_after=0 if due_after is None else due_after,
            due_before=due_before,
            per_lane=per_lane,
            lanes=numbers,
        )
        known = await self._lanes.lanes({row[0] for row in rows})
        return [Hint(TaskId(str(task)), known[lane], Instant(due_at)) for lane, task, due_at in rows]
