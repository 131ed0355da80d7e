"""What a queue that has lost its hints is made whole from."""

import time
from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.store import Hint
from drumline.stores.driver import Line
from drumline.stores.postgres.part import PostgresPart


class Sweeping(PostgresPart):
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
        begin = self._floor.due_at() if due_after is None else due_after
        began = time.monotonic()
        rows = await self._database.fetch(
            Line.SWEEP,
            "upcoming",
            repeat=True,
            due_after=begin,
            due_before=due_before,
            per_lane=per_lane,
            tenants=None if lanes is None else [lane.tenant for lane in lanes],
            queues=None if lanes is None else [lane.queue for lane in lanes],
            names=None if lanes is None else [lane.name for lane in lanes],
            priorities=None if lanes is None else [lane.priority for lane in lanes],
        )
        if begin == 0 and lanes is None:
            self._floor.looked(began, min((row[-1] for row in rows), default=due_before))
        # One object for each lane: there are few of them, and thousands of hints.
        known: dict[tuple[str, str, str, int], Lane] = {}
        hints = []
        for *words, task, due_at in rows:
            key = (words[0], words[1], words[2], words[3])
            lane = known.get(key) or known.setdefault(key, Lane(*key))
            hints.append(Hint(TaskId(str(task)), lane, Instant(due_at)))
        return hints

    async def waiting_tasks(self, *, due_before: Instant, limit: int) -> list[tuple[TaskId, State]]:
        """Return up to `limit` queued tasks due before a time, and up to `limit` that are blocked, in any order."""
        rows = await self._database.fetch(Line.SWEEP, "waiting_tasks", repeat=True, due_before=due_before, limit=limit)
        return [(TaskId(str(task)), State(state)) for task, state in rows]

    async def paused_queues(self) -> list[tuple[str, str]]:
        """Return the queues that are paused, as tenant and queue."""
        rows = await self._database.fetch(Line.BROAD, "paused_queues", repeat=True)
        return [(tenant, queue) for tenant, queue in rows]
