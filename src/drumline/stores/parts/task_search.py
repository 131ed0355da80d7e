"""Searching tasks by conditions that no index answers.

An index finds candidates by what narrows most. Their lanes are compared first, then the tasks, then the payloads of
those that are left: what costs most is read least. A search ends at the bounds of its `Effort`, wherever it is.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.blob import is_reference
from drumline.core.filter_subjects import searched_characters
from drumline.core.filters import Filter
from drumline.core.ids import TaskId, id_above
from drumline.core.state import LIVE, State, Status, states_of
from drumline.core.task import Lane, TaskView
from drumline.ports.query import Found, TaskFilter
from drumline.stores.driver import ABOVE_ALL, BELOW_ALL, Database, Line

UNHAPPY: Final = frozenset({Status.FAILED, Status.CANCELLED, Status.SKIPPED})
NOT_ENDED: Final = frozenset({Status.PENDING, Status.QUEUED, Status.PROCESSING})
LANE_BYTES: Final = 100
"""What comparing a lane costs, as bytes of JSON."""
MOST_COMPARED: Final = 50_000
"""Lanes that are compared with a filter before tasks are."""
MOST_LANES: Final = 500
"""Lanes whose tasks are found one lane after the other; of more, those of all lanes are looked at."""
FIRST_AT_ONCE: Final = 200
MOST_AT_ONCE: Final = 1000
"""Candidates that a statement finds."""
PAYLOADS_AT_ONCE: Final = 100
MOST_ERRORS: Final = 8 * 1024 * 1024
"""Characters of errors of the tasks that one search returns; those of 200 more are in memory meanwhile."""
LARGEST_PAYLOAD: Final = 64 * 1024
"""Bytes of the largest payload that is searched: one statement reads 6.4 MB of them at most."""


class Effort(NamedTuple):
    """What one search may cost at most."""

    candidates: int = 20_000
    """Entries of an index."""
    tasks: int = 5_000
    """Tasks that are read, for they may match by their lane."""
    payloads: int = 1_000
    """Payloads that are read, of tasks that match otherwise."""


EFFORT: Final = Effort()

Read = Callable[[Sequence[TaskId]], Awaitable[list[TaskView | None]]]
Match = Callable[[TaskView], bool]


async def lanes_like(database: Database, which: TaskFilter) -> frozenset[int] | None:
    """Return the numbers of the lanes that a filter may mean; None if it means all, or they are too many to tell."""
    also = which.also
    if which.tenant is None and which.queue is None and which.name is None and not (also and also.narrows_lanes):
        return None
    rows = await database.fetch(
        Line.BROAD, "lanes_of", repeat=True, within=which.tenant, tenant=which.tenant, limit=MOST_COMPARED + 1
    )
    if len(rows) > MOST_COMPARED:
        return None

    def matching() -> frozenset[int]:
        lanes = ((number, Lane(*lane)) for number, *lane in rows)
        return frozenset(
            number
            for number, lane in lanes
            if which.queue in {None, lane.queue}
            and which.name in {None, lane.name}
            and (also is None or also.covers_lane(lane))
        )

    return await off_loop(LANE_BYTES * len(rows), matching)


class TaskSearch:
    """One search, from where it begins to where it ends."""

    def __init__(self, database: Database, which: TaskFilter, *, read: Read, match: Match, effort: Effort) -> None:
        self._database = database
        self._which = which
        self._read = read
        self._match = match
        self._left = effort

    async def run(self, *, limit: int, before: TaskId | None, errors: bool) -> Found:
        """Return what is found, up to `limit` and to `MOST_ERRORS` if with errors, and from where to go on."""
        which = self._which
        lanes = await lanes_like(self._database, which)
        if lanes is not None and not lanes:
            return Found((), None)
        name, values = finder_of(which, lanes)
        first = BELOW_ALL if which.since is None else id_above(which.since - 1)
        start = before or TaskId(ABOVE_ALL)
        if which.until is not None:
            start = min(start, id_above(which.until - 1))
        found = _Page(limit, errors=errors)
        at_once = FIRST_AT_ONCE
        while True:
            rows = await self._database.fetch(
                Line.BROAD, name, repeat=True, first=first, before=start, limit=at_once, **values
            )
            rest = await self._look_at(rows, lanes, found)
            if rest is not None:
                return Found(tuple(found.tasks), rest)
            if len(rows) < at_once:
                return Found(tuple(found.tasks), None)
            start, at_once = TaskId(str(rows[-1][0])), MOST_AT_ONCE
            self._left = self._left._replace(candidates=self._left.candidates - len(rows))
            if self._left.candidates <= 0:
                return Found(tuple(found.tasks), start)

    async def _look_at(self, rows: Sequence[Any], lanes: frozenset[int] | None, found: "_Page") -> TaskId | None:
        """Add the candidates that match; return where to go on if nothing more may be added or read."""
        also = self._which.also
        ids = dict.fromkeys(TaskId(str(task)) for task, lane in rows if lanes is None or lane is None or lane in lanes)
        near = [task for task in ids if also is None or also.covers_id(task)]
        for place in range(0, len(near), FIRST_AT_ONCE):
            part = near[place : place + FIRST_AT_ONCE]
            if self._left.tasks < len(part):
                return _above(part[0])
            self._left = self._left._replace(tasks=self._left.tasks - len(part))
            rest = await self._add(await self._matching(part), found)
            if rest is not None:
                return rest
        return None

    async def _matching(self, tasks: Sequence[TaskId]) -> list[TaskView]:
        """Return those of some tasks that match, but for what is said about their payloads."""
        views = [view for view in await self._read(tasks) if view is not None]
        also = self._which.also
        weight = sum(map(searched_characters, views)) if also is not None and also.searches_errors else 0
        return await off_loop(weight, lambda: [view for view in views if self._match(view)])

    async def _add(self, views: Sequence[TaskView], found: "_Page") -> TaskId | None:
        """Add those whose payload matches, too."""
        also = self._which.also
        if also is None or not also.needs_payload:
            return found.add(views)
        for place in range(0, len(views), PAYLOADS_AT_ONCE):
            part = views[place : place + PAYLOADS_AT_ONCE]
            if self._left.payloads < len(part):
                return _above(part[0].id)
            self._left = self._left._replace(payloads=self._left.payloads - len(part))
            fitting = await self._fitting(part, also)
            rest = found.add([view for view in part if view.id in fitting])
            if rest is not None:
                return rest
        return None

    async def _fitting(self, views: Sequence[TaskView], also: Filter) -> frozenset[str]:
        """Return the tasks whose payloads match. A payload that is too large, or kept elsewhere, matches nothing."""
        rows = await self._database.fetch(
            Line.BROAD,
            "search_payloads",
            repeat=True,
            within=self._which.tenant,
            ids=[view.id for view in views],
            largest=LARGEST_PAYLOAD,
        )

        def fitting() -> frozenset[str]:
            return frozenset(
                str(task)
                for task, payload in rows
                if not is_reference(payload) and also.matches_payload(msgspec.json.decode(payload))
            )

        return await off_loop(sum(len(payload) for _, payload in rows), fitting)


class _Page:
    """The tasks that a search has found, up to a number and to so many characters of errors."""

    def __init__(self, limit: int, *, errors: bool) -> None:
        self.tasks: list[TaskView] = []
        self._limit = limit
        self._errors = errors
        self._size = 0

    def add(self, views: Sequence[TaskView]) -> TaskId | None:
        """Add tasks until the page is full; return the last one then."""
        for view in views:
            kept = view if self._errors or view.error is None else replace(view, error=None)
            self.tasks.append(kept)
            self._size += kept.size
            if len(self.tasks) >= self._limit or self._size >= MOST_ERRORS:
                return view.id
        return None


def finder_of(which: TaskFilter, lanes: frozenset[int] | None) -> tuple[str, dict[str, Any]]:
    """Return the statement that finds the fewest candidates, and its parameters besides where and how many."""
    by = {
        "search_by_key": ("key", which.idempotency_key),
        "search_by_job": ("job", which.job),
        "search_by_worker": ("session", which.worker),
        "search_by_tag": ("tag", which.tag),
    }
    for name, (parameter, value) in by.items():
        if value is not None:
            return name, {parameter: value}
    if which.statuses and which.statuses <= NOT_ENDED:
        return "search_live", {}
    if which.statuses and which.statuses <= UNHAPPY:
        return "search_unhappy", {"outcomes": sorted(_outcomes(which.statuses))}
    if lanes is not None and len(lanes) <= MOST_LANES:
        return "search_in_lanes", {"lanes": sorted(lanes)}
    return "search_tasks", {}


def _outcomes(statuses: frozenset[Status]) -> set[int]:
    states: set[State] = {state for status in statuses for state in states_of(status)}
    return {int(state) for state in states - LIVE}


def _above(task: TaskId) -> TaskId:
    """Return the id right above another: below it, the search goes on with that one."""
    digits = f"{int(task.replace('-', ''), 16) + 1:032x}"
    return TaskId(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
