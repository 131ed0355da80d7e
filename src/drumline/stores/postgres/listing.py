"""Listing tasks: an index finds candidates by what narrows most, the tasks themselves are asked the rest."""

from typing import Any, Final

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import LIVE, State, Status, states_of
from drumline.core.task import TaskView
from drumline.ports.store import TaskFilter
from drumline.stores.driver import Line
from drumline.stores.postgres.querying import Querying

ABOVE_ALL: Final = TaskId("ffffffff-ffff-ffff-ffff-ffffffffffff")
ENDED: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.SKIPPED})
LEAST_AT_ONCE: Final = 200
MOST_AT_ONCE: Final = 5000

Finder = tuple[str, dict[str, Any]]
"""The statement that finds candidates, and what it is asked besides where to begin and how many."""


class Listing(Querying):
    """The listing part of `ports.store.Querying` on PostgreSQL."""

    async def list_tasks(
        self, which: TaskFilter, *, limit: int, before: TaskId | None = None, payload: bool = False
    ) -> list[TaskView]:
        """Return tasks, newest first, starting below `before`."""
        name, values = self._finder(which, await self._lanes_of(which))
        now = await self._time()
        listed: list[TaskView] = []
        start, at_once = before or ABOVE_ALL, max(limit, LEAST_AT_ONCE)
        while len(listed) < limit:
            rows = await self._database.fetch(Line.BROAD, name, repeat=True, before=start, limit=at_once, **values)
            candidates = list(dict.fromkeys(TaskId(str(task)) for (task,) in rows))
            views = await self.get(candidates, tenant=which.tenant, payload=payload)
            listed += [view for view in views if view is not None and _matches(view, which, now)]
            if len(rows) < at_once:
                break
            start, at_once = candidates[-1], min(at_once * 4, MOST_AT_ONCE)
        return listed[:limit]

    async def _lanes_of(self, which: TaskFilter) -> list[int] | None:
        if which.tenant is None and which.queue is None and which.name is None:
            return None
        rows = await self._database.fetch(
            Line.BROAD,
            "find_lanes",
            repeat=True,
            within=which.tenant,
            tenant=which.tenant,
            queue=which.queue,
            name=which.name,
        )
        return [number for (number,) in rows]

    def _finder(self, which: TaskFilter, lanes: list[int] | None) -> Finder:
        if which.idempotency_key is not None:
            return "find_by_key", {"key": which.idempotency_key}
        if which.job is not None:
            return "find_by_job", {"job": which.job}
        if which.tag is not None:
            return "find_by_tag", {"tag": which.tag, "lanes": lanes}
        if which.worker is not None:
            return "find_by_worker", {"session": which.worker}
        statuses, since = which.statuses, which.finished_since
        if since is not None:
            statuses = (statuses or frozenset(Status)) & ENDED
        if since is not None or (statuses and not (lanes is not None and statuses == {Status.COMPLETED})):
            return "find_by_state", {**_states(statuses), "lanes": lanes, "now": self._now(), "since": since}
        return ("find_tasks", {}) if lanes is None else ("find_in_lanes", {"lanes": lanes})


def _states(statuses: frozenset[Status]) -> dict[str, Any]:
    states = {state for status in statuses for state in states_of(status)} - {State.QUEUED}
    return {
        "live": sorted(int(state) for state in states & LIVE),
        "completed": sorted(int(state) for state in states & {State.COMPLETED}),
        "unhappy": sorted(int(state) for state in states - LIVE - {State.COMPLETED}),
        "pending": Status.PENDING in statuses,
        "queued": Status.QUEUED in statuses,
    }


def _matches(view: TaskView, which: TaskFilter, now: Instant) -> bool:
    wanted = (
        (which.queue, view.lane.queue),
        (which.name, view.lane.name),
        (which.idempotency_key, view.idempotency_key),
        (which.worker, view.worker),
        (which.job, view.options.job),
    )
    return (
        all(want is None or want == has for want, has in wanted)
        and (which.finished_since is None or (view.finished_at or 0) >= which.finished_since)
        and (which.tag is None or which.tag in view.options.tags)
        and (not which.statuses or view.status(now) in which.statuses)
    )
