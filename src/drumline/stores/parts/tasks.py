"""Reading and counting tasks, their executions, and queues.

A list is made in two steps: an index finds candidates by what narrows most, then the tasks themselves are compared with
the whole filter.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from drumline.aio.batcher import Batcher
from drumline.aio.threads import off_loop
from drumline.core.attempt import AttemptOutcome, AttemptView
from drumline.core.blob import is_reference
from drumline.core.clock import NEVER, Clock, Instant
from drumline.core.codec import decode
from drumline.core.ids import TaskId, id_above
from drumline.core.outcome import ErrorInfo
from drumline.core.priority import score
from drumline.core.state import LIVE, State, Status, states_of
from drumline.core.task import Lane, TaskView, decode_options
from drumline.ports.query import Count, Found, Holder, QueueView, TaskFilter, WaitingType, count_up_to
from drumline.stores.driver import ABOVE_ALL, Database, Lanes, Line, Part
from drumline.stores.parts.task_search import EFFORT, TaskSearch

ERROR_COLUMN: Final = 16
"""Where the error is in a row of the statement `get`."""
QUEUE_BYTES: Final = 20
"""What showing a queue costs, as bytes of JSON."""
ENDED: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.SKIPPED})
MOST_CLAIMED: Final = 40_000
"""Claimed tasks that are looked at to count those that run: what workers took since their last two heartbeats or so."""
LEAST_AT_ONCE: Final = 200
MOST_AT_ONCE: Final = 5000
"""How many candidates are read at once when the first of them were not enough."""
ATTEMPTS_AT_ONCE: Final = 100
"""Executions of a task that a statement reads: their errors have 13 million characters at most."""
MOST_ERRORS: Final = 4 * 1024 * 1024
"""Characters of errors, of the latest executions of a task, after which those of earlier ones are shortened."""
ABOVE_ALL_EPOCHS: Final = 2**31 - 1

MOST_TOGETHER: Final = 256
"""Tasks that are read together for callers that ask for one each, if those are small."""
BYTES_TOGETHER: Final = 1024 * 1024
"""What payloads and results of tasks that are read together should have at most, going by those read before."""
READS_AT_ONCE: Final = 2

SingleRead = tuple[TaskId, str | None]
"""A task, and the tenant that it is read for."""
Finder = tuple[str, dict[str, Any]]
"""The statement that finds candidates, and its parameters besides where to begin and how many."""


class LaneCounts(NamedTuple):
    """The live tasks of a lane; the order is that of count_lanes."""

    pending: int
    queued: int
    processing: int
    oldest_due_at: Instant | None


class TaskQueries(Part):
    """`ports.query.Querying`.

    Callers that ask for one task each at the same time share a statement, which begins after all of them have asked:
    each sees what was committed before it asked.
    """

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes) -> None:
        super().__init__(database, clock, lanes)
        self._singles: Batcher[SingleRead, TaskView | None] = Batcher(
            self._get_singles, name="reads of tasks", largest=MOST_TOGETHER, parallel=READS_AT_ONCE
        )

    async def now(self) -> Instant:
        """Return the store's time."""
        return await self._time()

    async def get(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, payload: bool = True
    ) -> list[TaskView | None]:
        """Return tasks as they are now; None for those that do not exist (for this tenant)."""
        if payload and len(tasks) == 1:
            return [await self._singles.joined((tasks[0], tenant))]
        return await self._get(tasks, tenant, payload=payload)

    async def _get_singles(self, reads: list[SingleRead]) -> list[TaskView | None]:
        """Return one task for each caller: with a statement for each tenant, behind its wall."""
        tasks_of: dict[str | None, list[TaskId]] = {}
        for task, tenant in reads:
            tasks_of.setdefault(tenant, []).append(task)
        found: dict[SingleRead, TaskView | None] = {}
        size = 0
        for tenant, tasks in tasks_of.items():
            for task, view in zip(tasks, await self._get(tasks, tenant, payload=True), strict=True):
                found[task, tenant] = view
                size += 0 if view is None else view.size
        self._singles.resize(min(MOST_TOGETHER, max(1, BYTES_TOGETHER * len(reads) // (size + 1))))
        return [found[read] for read in reads]

    async def _get(
        self, tasks: Sequence[TaskId], tenant: str | None, *, payload: bool, errors: bool = True
    ) -> list[TaskView | None]:
        rows = await self._database.fetch(
            Line.REQUEST,
            "get",
            repeat=True,
            within=tenant,
            ids=list(tasks),
            with_payload=payload,
            with_error=errors,
        )
        lanes = await self._lanes.lanes({row[1] for row in rows})
        views = await off_loop(
            sum(len(row[ERROR_COLUMN] or "") for row in rows), lambda: [_view(row, lanes[row[1]]) for row in rows]
        )
        found = {view.id: view for view in views if tenant is None or view.lane.tenant == tenant}
        return [found.get(task) for task in tasks]

    async def attempts(self, task: TaskId, *, tenant: str | None = None) -> list[AttemptView]:
        """Return a task's executions, oldest first, the running one included.

        If their errors are long together, those of the earlier ones are shortened.
        """
        found: list[AttemptView] = []
        size, before = 0, ABOVE_ALL_EPOCHS
        while True:
            rows = await self._database.fetch(
                Line.REQUEST,
                "attempts",
                repeat=True,
                within=tenant,
                id=task,
                tenant=tenant,
                before=before,
                limit=ATTEMPTS_AT_ONCE,
            )
            weight = sum(len(row[-1] or "") for row in rows)
            found += await off_loop(weight, partial(_attempt_views, rows, size))
            if len(rows) < ATTEMPTS_AT_ONCE:
                return found[::-1]
            size, before = size + weight, rows[-1][0]

    async def holders(self, executions: Sequence[tuple[TaskId, int]]) -> list[Holder | None]:
        """Return who runs or ran each execution, by task and epoch; None for one that there never was."""
        ids, epochs = [task for task, _ in executions], [epoch for _, epoch in executions]
        rows = await self._database.fetch(Line.REQUEST, "holders", repeat=True, ids=ids, epochs=epochs)
        found = {
            (str(task), epoch): Holder(session or None, nonce or 0, attempt)
            for task, epoch, session, nonce, attempt in rows
        }
        return [found.get(execution) for execution in executions]

    async def count_lanes(self, *, up_to: int, tenant: str | None = None) -> int:
        """Return how many lanes there are, or a tenant has; up to `up_to` perhaps too many: unused numbers count."""
        if tenant is not None:
            ((count,),) = await self._database.fetch(Line.BROAD, "count_lanes_of", repeat=True, tenant=tenant)
            return int(count)
        ((last,),) = await self._database.fetch(Line.REQUEST, "last_lane", repeat=True)
        if last <= up_to:
            return int(last)  # numbers are given one after the other, and few are left out
        ((count,),) = await self._database.fetch(Line.BROAD, "count_all_lanes", repeat=True)
        return int(count)

    async def existing_lanes(self, lanes: Iterable[Lane]) -> frozenset[Lane]:
        """Return those of some lanes that there are."""
        wanted = frozenset(lanes)
        names, queues = {lane.name for lane in wanted}, {lane.queue for lane in wanted}
        rows = await self._database.fetch(
            Line.BROAD, "existing_lanes", repeat=True, names=sorted(names), queues=sorted(queues)
        )
        return wanted & {Lane(*row) for row in rows}

    async def count_ahead(self, task: TaskView, *, limit: int) -> int:
        """Return how many due tasks of a queued task's queue come before it, counting up to `limit`."""
        ((count,),) = await self._database.fetch(
            Line.REQUEST,
            "count_ahead",
            repeat=True,
            within=task.lane.tenant,
            tenant=task.lane.tenant,
            queue=task.lane.queue,
            score=score(task.due_at or 0, task.lane.priority),
            now=self._now(),
            limit=limit,
        )
        return int(count)

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
            Line.REQUEST, "count_live", repeat=True, lanes=lanes, now=self._now(), limit=limit, looked=MOST_CLAIMED
        )
        counts = {
            Status.PENDING: count_up_to(limit, later + blocked),
            Status.QUEUED: count_up_to(limit, queued),
            Status.PROCESSING: count_up_to(limit, processing, is_more=claimed >= MOST_CLAIMED),
            **dict.fromkeys(ENDED, Count(0)),
        }
        most = looked_at or limit
        rows = await self._database.fetch(Line.BROAD, "count_ended", repeat=True, lanes=lanes, limit=most)
        for outcome, found, seen in rows:
            counts[Status[AttemptOutcome(outcome).name]] = Count(found, seen >= most)
        return counts

    async def queues(self, *, tenant: str | None = None) -> list[QueueView]:
        """Return the queues that have tasks or are paused."""
        rows = await self._database.fetch(Line.BROAD, "queue_lanes", repeat=True, within=tenant, tenant=tenant)
        lanes = None if tenant is None else [row[2] for row in rows if row[2] is not None]
        counted = await self._database.fetch(Line.BROAD, "count_lanes", repeat=True, lanes=lanes, now=self._now())

        def queues() -> list[QueueView]:
            counts = {lane: LaneCounts(*numbers) for lane, *numbers in counted}
            return [_queue(list(own), counts) for _, own in groupby(rows, key=lambda row: (row[0], row[1]))]

        return await off_loop(QUEUE_BYTES * len(rows), queues)

    async def list_tasks(
        self,
        which: TaskFilter,
        *,
        limit: int,
        before: TaskId | None = None,
        payload: bool = False,
        errors: bool = True,
    ) -> list[TaskView]:
        """Return tasks, newest first, starting below `before`."""
        if which.also is not None:
            raise ValueError("conditions are for search_tasks")
        name, values = self._finder(which, await lanes_matching(self._database, which))
        now = await self._time()

        def matching(views: Iterable[TaskView | None]) -> list[TaskView]:
            return [view for view in views if view is not None and _matches(view, which, now)]

        listed: list[TaskView] = []
        start, at_once = before or TaskId(ABOVE_ALL), limit
        # Ids are in the order of their time, so a stretch of time is a stretch of ids.
        if which.until is not None:
            start = min(start, id_above(which.until - 1))
        first = "" if which.since is None else id_above(which.since - 1)
        while len(listed) < limit:
            rows = await self._database.fetch(Line.BROAD, name, repeat=True, before=start, limit=at_once, **values)
            candidates = list(dict.fromkeys(TaskId(str(task)) for (task,) in rows))
            within = [task for task in candidates if task >= first]
            if len(within) <= limit:
                listed += matching(await self._get(within, which.tenant, payload=payload, errors=errors))
            else:  # many more than are wanted: what may be large is read of those that match
                views = matching(await self._get(within, which.tenant, payload=False, errors=False))
                wanted = views[: limit - len(listed)]
                whole = await self._get([view.id for view in wanted], which.tenant, payload=payload, errors=errors)
                listed += [view or known for view, known in zip(whole, wanted, strict=True)]
            if len(rows) < at_once or len(within) < len(candidates):
                break
            start, at_once = candidates[-1], min(max(at_once * 4, LEAST_AT_ONCE), MOST_AT_ONCE)
        return listed[:limit]

    async def small_payloads(
        self, tasks: Sequence[TaskId], *, largest: int, tenant: str | None = None
    ) -> list[bytes | None]:
        """Return payloads of tasks that were listed; None for those above `largest` bytes or in the blob store."""
        if not tasks:
            return []
        rows = await self._database.fetch(
            Line.BROAD, "search_payloads", repeat=True, within=tenant, ids=list(tasks), largest=largest
        )
        found = {str(task): bytes(payload) for task, payload in rows if not is_reference(payload)}
        return [found.get(task) for task in tasks]

    async def search_tasks(
        self,
        which: TaskFilter,
        *,
        limit: int,
        before: TaskId | None = None,
        payload: bool = False,
        errors: bool = True,
    ) -> Found:
        """Return tasks that match a filter with all its conditions, newest first, and from where to go on."""
        now = await self._time()
        reads_errors = errors or (which.also is not None and which.also.searches_errors)

        def matches(view: TaskView) -> bool:
            return _matches(view, which, now) and (which.also is None or which.also.matches(view, now))

        async def read(tasks: Sequence[TaskId]) -> list[TaskView | None]:
            return await self._get(tasks, which.tenant, payload=False, errors=reads_errors)

        search = TaskSearch(self._database, which, read=read, match=matches, effort=EFFORT)
        found = await search.run(limit=limit, before=before, errors=errors)
        if not payload or not found.tasks:
            return found
        views = await self.get([view.id for view in found.tasks], tenant=which.tenant)
        return Found(tuple(view for view in views if view is not None), found.rest)

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


async def lanes_matching(database: Database, which: TaskFilter) -> list[int] | None:
    """Return the numbers of the lanes that a filter narrows to; None if it does not narrow."""
    if which.tenant is None and which.queue is None and which.name is None:
        return None
    rows = await database.fetch(
        Line.BROAD,
        "find_lanes",
        repeat=True,
        within=which.tenant,
        tenant=which.tenant,
        queue=which.queue,
        name=which.name,
    )
    return [number for (number,) in rows]


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


def _queue(rows: Sequence[Any], counts: Mapping[int, LaneCounts]) -> QueueView:
    """Return a queue from the rows of its lanes, and the one that tells that it is paused."""
    tenant, queue, _, _, is_paused, reason = rows[0]
    lanes = [(name, counts[lane]) for _, _, lane, name, _, _ in rows if lane in counts]
    due: dict[str, list[LaneCounts]] = {}
    for name, each in lanes:
        if each.queued:
            due.setdefault(name, []).append(each)
    types = tuple(WaitingType(name, sum(one.queued for one in own), _oldest(own)) for name, own in due.items())
    return QueueView(
        tenant=tenant, name=queue, is_paused=bool(is_paused), reason=reason, waiting=types,
        pending=sum(each.pending for _, each in lanes), queued=sum(each.queued for _, each in lanes),
        processing=sum(each.processing for _, each in lanes),
        oldest_due_at=min((each.oldest_due_at for each in types), default=None),
    )  # fmt: skip


def _oldest(counts: Iterable[LaneCounts]) -> Instant:
    return min(each.oldest_due_at for each in counts if each.oldest_due_at is not None)


def _view(row: Iterable[Any], lane: Lane) -> TaskView:
    (
        task, _, state, created_at, due_at, epoch, attempt, failures, crashes, cancel_requested, started_at,
        finished_at, session, options, key, result, error, payload, is_parked,
    ) = row  # fmt: skip
    return TaskView(
        id=TaskId(str(task)), lane=lane, state=State(state), created_at=created_at,
        due_at=None if due_at == NEVER else due_at, epoch=epoch,
        attempt=attempt, failures=failures, crashes=crashes, cancel_requested=bool(cancel_requested),
        started_at=started_at, finished_at=finished_at, worker=session, options=decode_options(options),
        idempotency_key=key, payload=_raw(payload), result=_raw(result), error=_error_info(error),
        is_parked=bool(is_parked),
    )  # fmt: skip


def _raw(data: bytes | None) -> Raw | None:
    return None if data is None else Raw(data)


def _attempt_views(rows: Sequence[Any], size: int) -> list[AttemptView]:
    """Return executions, the newest first, when the errors of later ones have so many characters."""
    views = []
    for row in rows:
        size += len(row[-1] or "")
        view = _attempt_view(row)
        if size > MOST_ERRORS and view.error is not None:
            view = replace(view, error=view.error.shortened)
        views.append(view)
    return views


def _attempt_view(row: Iterable[Any]) -> AttemptView:
    """Return an execution from its row; the order is that of `attempts`."""
    epoch, attempt, outcome, session, started_at, finished_at, error = row
    return AttemptView(
        epoch=epoch, attempt=attempt, outcome=AttemptOutcome(outcome), worker=session, started_at=started_at,
        finished_at=finished_at, error=_error_info(error),
    )  # fmt: skip


def _error_info(text: str | None) -> ErrorInfo | None:
    """Return an error from how it is kept."""
    return None if text is None else decode(text, ErrorInfo)
