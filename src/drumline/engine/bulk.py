"""Bulk operations: asked for here, frozen by the store, carried out by the scheduler's duty of the same name."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from drumline.core.access import Caller
from drumline.core.bulk import (
    BulkAct,
    BulkFilter,
    BulkId,
    BulkItem,
    BulkRequest,
    BulkState,
    BulkView,
    ItemOutcome,
    check_bulk,
    chooses_letters,
    ids_of,
)
from drumline.core.clock import Instant, to_instant
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId, parse_job_id, parse_session_id, parse_task_id
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME, LONGEST_TAG, check_key, check_name, check_queue, check_text
from drumline.core.state import Status
from drumline.engine.control import TaskControl
from drumline.engine.filtering import TaskFilters, narrowed_by
from drumline.engine.read_model_notes import ReadModelNotes
from drumline.ports.bulk import Advanced, too_many
from drumline.ports.dead_letters import DeadLetterFilter, Mark
from drumline.ports.store import Store, TaskFilter

EVERYTHING: Final = Caller("the engine")
"""A caller that may act on every task."""
SAMPLE: Final = 5
PAGE: Final = 1000
"""Tasks looked at in one go while they are chosen."""
NOT_ENDED: Final = frozenset({Status.PENDING, Status.QUEUED, Status.PROCESSING})
WAITING: Final = frozenset({Status.PENDING, Status.QUEUED})
ENDED_BADLY: Final = frozenset({Status.FAILED, Status.CANCELLED, Status.SKIPPED})
MOST_SEARCHES: Final = 50
"""Searches, each of a bounded effort, that may end without a whole page while the tasks of an expression are chosen."""


MOST_OTHERS: Final = 200
"""Pages in a row without a task that the caller may act on."""


class Prospect(Struct, frozen=True, kw_only=True):
    """What a bulk operation would be about, had it been asked for in earnest."""

    act: BulkAct
    total: int
    sample: tuple[TaskId, ...]
    oldest_at: Instant | None = None
    newest_at: Instant | None = None


class BulkPage(Struct, frozen=True):
    """A stretch of the list of bulk operations, and the cursor that continues it."""

    items: tuple[BulkView, ...]
    next_cursor: str | None


class ItemPage(Struct, frozen=True):
    """A stretch of an operation's tasks, and the cursor that continues it."""

    items: tuple[BulkItem, ...]
    next_cursor: str | None


class BulkService:
    """Where acts on many tasks are asked for and looked at. A `tenant` of None is everybody's."""

    def __init__(
        self,
        store: Store,
        control: TaskControl,
        notes: ReadModelNotes,
        filters: TaskFilters,
        *,
        new_id: Callable[[], TaskId],
        limits: Limits,
    ) -> None:
        self._store = store
        self._control = control
        self._notes = notes
        self._filters = filters
        self._new_id = new_id
        self._limits = limits

    async def begin(self, request: BulkRequest, *, tenant: str | None = None, by: Caller = EVERYTHING) -> BulkView:
        """Freeze the tasks that a request is about, and let them be dealt with; raises `Invalid`.

        Of a caller who is meant for some tasks only it is about those. The name and queue of a task never change, so
        what is frozen is what the caller was meant for whenever it is dealt with.
        """
        new = check_bulk(request, id=BulkId(self._new_id()), tenant=tenant)
        if by.is_narrowed:
            new = replace(new, plan=replace(new.plan, names=by.names, queues=by.queues))
        elif not request.ids and chooses_letters(request):
            which = letters_of(request.filter, tenant=tenant)
            return await self._store.bulks.begin_bulk(new, which=which, most=self._limits.bulk)
        return await self._store.bulks.begin_bulk(
            new, tasks=await self._chosen(request, tenant, by), most=self._limits.bulk
        )

    async def survey(self, request: BulkRequest, *, tenant: str | None = None, by: Caller = EVERYTHING) -> Prospect:
        """Return what a request would be about, and change nothing; raises `Invalid` as `begin` does."""
        check_bulk(request, id=BulkId(""), tenant=tenant)
        if request.ids or by.is_narrowed or not chooses_letters(request):
            tasks = await self._chosen(request, tenant, by)
            return Prospect(act=request.act, total=len(tasks), sample=tuple(tasks[:SAMPLE]))
        which = letters_of(request.filter, tenant=tenant)
        found = await self._store.bulks.survey(which, most=self._limits.bulk)
        if found.count > self._limits.bulk:
            raise too_many(self._limits.bulk)
        sample = await self._store.dead_letters.dead_letters(which, limit=SAMPLE)
        return Prospect(
            act=request.act,
            total=found.count,
            sample=tuple(letter.task for letter in sample),
            oldest_at=found.oldest_at,
            newest_at=found.newest_at,
        )

    async def items(
        self,
        bulk: BulkId,
        *,
        outcomes: frozenset[ItemOutcome] = frozenset(),
        limit: int = 100,
        after: int = 0,
        tenant: str | None = None,
    ) -> ItemPage:
        """Return a page of an operation's tasks, in their order."""
        self._check_limit(limit)
        await self._store.bulks.get_bulk(bulk, tenant=tenant)
        items = await self._store.bulks.bulk_items(bulk, outcomes=outcomes, limit=limit + 1, after=after, tenant=tenant)
        return ItemPage(tuple(items[:limit]), str(items[limit - 1].seq) if len(items) > limit else None)

    async def advance(self, bulk: BulkId, *, limit: int) -> Advanced | None:
        """Deal with the next tasks of an operation, and let workers know of those that wait for them now."""
        advanced = await self._store.bulks.advance_bulk(bulk, limit=limit)
        if advanced is None:
            return None
        if advanced.view.act is not BulkAct.DISCARD:
            self._control.follow(advanced.changed)
            await self._notes.caught_up()
        self._notes.letters_changed([changed.task for changed in advanced.changed])
        return advanced

    async def _chosen(self, request: BulkRequest, tenant: str | None, by: Caller) -> list[TaskId]:
        """Return the tasks that a request names, or finds by where they stand, the oldest first."""
        if request.ids:
            return await self._named(request, tenant, by)
        if chooses_letters(request):
            return await self._failed(letters_of(request.filter, tenant=tenant), by)
        which = tasks_of(request, tenant=tenant)
        expression = None if request.filter is None else request.filter.expression
        if expression is None:
            return await self._found(which, by)
        return await self._searched(self._with_expression(which, request, expression), by)

    def _with_expression(self, which: TaskFilter, request: BulkRequest, expression: str) -> TaskFilter:
        """Return a filter narrowed by the request's expression, among the tasks that the act can be about."""
        try:
            also = self._filters.read(expression)
        except Invalid as error:
            raise Invalid(error.message, field="filter.expression") from error
        if request.act is BulkAct.RETRY and not which.statuses:
            which = replace(which, statuses=ENDED_BADLY if also.names_status else frozenset({Status.FAILED}))
        return narrowed_by(which, also)

    async def _searched(self, which: TaskFilter, by: Caller) -> list[TaskId]:
        """Return the tasks that a search finds; `Invalid` if it would have to look at too many."""
        chosen: list[TaskId] = []
        before: TaskId | None = None
        fruitless = 0
        while fruitless < MOST_SEARCHES:
            found = await self._store.queries.search_tasks(which, limit=PAGE, before=before, errors=False)
            kept = [view.id for view in found.tasks if by.covers(view.lane.name, view.lane.queue)]
            chosen += kept
            self._check_count(chosen)
            if found.rest is None:
                return chosen[::-1]
            before = found.rest
            fruitless += len(found.tasks) < PAGE or not kept
        raise _too_broad("filter.expression")

    async def _named(self, request: BulkRequest, tenant: str | None, by: Caller) -> list[TaskId]:
        ids = ids_of(request)
        if len(ids) > self._limits.batch:
            raise Invalid(f"has {len(ids):,} tasks; at most {self._limits.batch:,} are accepted", field="ids")
        for start in range(0, len(ids) if by.is_narrowed else 0, PAGE):
            for view in await self._store.queries.get(ids[start : start + PAGE], tenant=tenant, payload=False):
                if view is not None:
                    by.check_reach(view.lane.name, view.lane.queue)
        return ids

    async def _found(self, which: TaskFilter, by: Caller) -> list[TaskId]:
        """Return tasks by where they stand, from the newest down: so none is found that comes in meanwhile."""
        chosen: list[TaskId] = []
        before: TaskId | None = None
        others = 0
        while others < MOST_OTHERS:
            views = await self._store.queries.list_tasks(which, limit=PAGE, before=before, errors=False)
            kept = [view.id for view in views if by.covers(view.lane.name, view.lane.queue)]
            chosen += kept
            self._check_count(chosen)
            if len(views) < PAGE:
                return chosen[::-1]
            before = views[-1].id
            others = 0 if kept else others + 1
        raise _too_broad("filter")

    async def _failed(self, which: DeadLetterFilter, by: Caller) -> list[TaskId]:
        """Return the tasks of dead letters, from the latest failure down."""
        chosen: list[TaskId] = []
        before: Mark | None = None
        others = 0
        while others < MOST_OTHERS:
            letters = await self._store.dead_letters.dead_letters(which, limit=PAGE, before=before)
            kept = [each.task for each in letters if by.covers(each.lane.name, each.lane.queue)]
            chosen += kept
            self._check_count(chosen)
            if len(letters) < PAGE:
                return chosen[::-1]
            before = Mark(letters[-1].at, letters[-1].task)
            others = 0 if kept else others + 1
        raise _too_broad("filter")

    def _check_count(self, chosen: Sequence[TaskId]) -> None:
        if len(chosen) > self._limits.bulk:
            raise too_many(self._limits.bulk)

    async def list(
        self,
        *,
        states: frozenset[BulkState] = frozenset(),
        limit: int = 100,
        cursor: str | None = None,
        tenant: str | None = None,
    ) -> BulkPage:
        """Return a page of operations, newest first."""
        self._check_limit(limit)
        before = None if cursor is None else BulkId(parse_task_id(cursor, field="cursor"))
        views = await self._store.bulks.bulks(tenant=tenant, states=states, limit=limit + 1, before=before)
        return BulkPage(tuple(views[:limit]), views[limit - 1].id if len(views) > limit else None)

    def _check_limit(self, limit: int) -> None:
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")


def letters_of(wanted: BulkFilter | None, *, tenant: str | None, field: str = "filter.") -> DeadLetterFilter:
    """Return a filter as the store takes it, or raise `Invalid` naming the field at fault; `field` goes before it."""
    if wanted is None:
        return DeadLetterFilter(tenant=tenant)
    return DeadLetterFilter(
        tenant=tenant,
        queue=None if wanted.queue is None else check_queue(wanted.queue, field=f"{field}queue"),
        name=None if wanted.name is None else check_name(wanted.name, field=f"{field}name"),
        fingerprint=_line(wanted.fingerprint, f"{field}fingerprint"),
        kind=_line(wanted.kind, f"{field}kind"),
        reason=wanted.reason,
        since=_instant(wanted.since, f"{field}since"),
        until=_instant(wanted.until, f"{field}until"),
        tag=None if wanted.tag is None else check_text(wanted.tag, field=f"{field}tag", longest=LONGEST_TAG),
        job=None if wanted.job is None else parse_job_id(wanted.job, field=f"{field}job"),
    )


def tasks_of(request: BulkRequest, *, tenant: str | None) -> TaskFilter:
    """Return which tasks a request is about that is not about dead letters."""
    wanted = request.filter or BulkFilter()
    usual = {BulkAct.RESCHEDULE: WAITING, BulkAct.CANCEL: NOT_ENDED}.get(request.act, frozenset[Status]())
    key, worker = wanted.idempotency_key, wanted.worker
    return TaskFilter(
        tenant=tenant,
        statuses=frozenset(wanted.status) or usual,
        queue=None if wanted.queue is None else check_queue(wanted.queue, field="filter.queue"),
        name=None if wanted.name is None else check_name(wanted.name, field="filter.name"),
        tag=None if wanted.tag is None else check_text(wanted.tag, field="filter.tag", longest=LONGEST_TAG),
        idempotency_key=None if key is None else check_key(key, field="filter.idempotency_key"),
        worker=None if worker is None else parse_session_id(worker, field="filter.worker"),
        job=None if wanted.job is None else parse_job_id(wanted.job, field="filter.job"),
    )


def _line(text: str | None, field: str) -> str | None:
    return None if text is None else check_text(text, field=field, longest=LONGEST_NAME)


def _instant(moment: datetime | None, field: str) -> Instant | None:
    return None if moment is None else to_instant(moment, field=field)


def _too_broad(field: str) -> Invalid:
    return Invalid(
        "would have to look at too many tasks; narrow it by a status, a name, a queue or created>", field=field
    )
