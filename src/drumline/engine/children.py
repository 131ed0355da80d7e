"""Children of durable tasks: started under their parent's lease, with what they inherit of it."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple

from msgspec.structs import replace

from drumline.core.blob import is_reference
from drumline.core.child_views import ChildShape, show_child
from drumline.core.children import MOST_IN_GROUP, MOST_STARTED, ChildOutcome, ChildRequests, NewChildren, OutcomePage
from drumline.core.clock import Instant
from drumline.core.durable import check_record_name
from drumline.core.errors import Fenced, Invalid, Moved, NotFound, Unavailable
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.limits import Limits
from drumline.core.metrics import Metrics
from drumline.core.task import NewTask, Submitted
from drumline.engine.blobs import Blobs
from drumline.engine.control import TaskControl
from drumline.engine.effects import EffectFollower
from drumline.engine.submit import Allow, Submissions
from drumline.ports.children import Children, LinkPage, SlotLeft, StartedChildren
from drumline.ports.store import Store

OUTCOMES_AT_ONCE = 1000
"""Places of children that one page of outcomes has."""
MOST_OPENED = 4 * 1024 * 1024
"""Bytes of large results in one page of outcomes, about."""
_NOT_CURRENT = "the lease is not the task's current one"


class ChildPage(NamedTuple, Generic[ChildShape]):
    """Children of a task, and where the next page begins."""

    children: tuple[ChildShape, ...]
    next_cursor: TaskId | None


class ChildService:
    """Starts children, tells how they ended, and works off the notes that ends and retries of parents leave."""

    def __init__(  # noqa: PLR0913 - each is another service
        self,
        store: Store,
        submissions: Submissions,
        control: TaskControl,
        effects: EffectFollower,
        *,
        blobs: Blobs,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self._children: Children = store.children
        self._queries = store.queries
        self._submissions = submissions
        self._control = control
        self._effects = effects
        self._blobs = blobs
        self._limits = limits
        self._metrics = metrics

    async def start(self, wanted: ChildRequests, *, allow: Allow | None = None) -> StartedChildren:
        """Store children of the task of a current lease; those that are there already stay as they are.

        They are stored beside it, also when new work of its slot goes to another database. Raises `Fenced`,
        `Unavailable` before the newest map is read, `QuotaExceeded`, and `Invalid` naming the field at fault.
        """
        check_record_name(wanted.name, wanted.key)
        if not 0 < len(wanted.tasks) <= MOST_STARTED:
            raise Invalid(f"must be from 1 to {MOST_STARTED:,}", field="tasks")
        if not 0 <= wanted.first <= MOST_IN_GROUP - len(wanted.tasks):
            raise Invalid(f"a call has at most {MOST_IN_GROUP:,} children", field="first")
        parent = await self._children.parent(wanted.lease)
        if parent is None:
            self._metrics.fenced.add()
            raise Fenced(_NOT_CURRENT)
        if wanted.tenant is not None and wanted.tenant != parent.lane.tenant:
            text = f"a child of a task of tenant {parent.lane.tenant!r} cannot be in tenant {wanted.tenant!r}"
            raise Invalid(text, field="tenant")
        tasks = await self._submissions.accept_children(wanted.tasks, wanted.lease.task, parent, allow=allow)
        answer = await self._start(wanted, tasks)
        if isinstance(answer, SlotLeft):
            tasks = self._submissions.beside(wanted.lease.task, tasks, answer.since)
            answer = await self._start(wanted, tasks)
        if isinstance(answer, Fenced):
            self._metrics.fenced.add()
            raise answer
        if not isinstance(answer, StartedChildren):
            raise Unavailable("the task's slot takes new work here by a newer map than this process has read")
        new = {hint.task: hint for hint in answer.new}
        stored = [task for task in tasks if task.id in new]
        self._effects.submitted(stored, [Submitted(task.id, new[task.id].due_at) for task in stored])
        self._effects.offers.offer(answer.new)
        return answer

    async def _start(self, wanted: ChildRequests, tasks: list[NewTask]) -> StartedChildren | Fenced | Moved | SlotLeft:
        return await self._children.start(
            NewChildren(
                lease=wanted.lease,
                name=wanted.name,
                key=wanted.key,
                first=wanted.first,
                on_end=wanted.on_end,
                tasks=tuple(await self._kept(tasks)),
            )
        )

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int) -> OutcomePage:
        """Return how children of a call ended, from a place on, or raise `Fenced`."""
        check_record_name(name, key)
        page = await self._children.outcomes(lease, name, key, first=first, limit=OUTCOMES_AT_ONCE)
        if isinstance(page, Fenced):
            raise page
        return await self._opened(page)

    async def _opened(self, page: OutcomePage) -> OutcomePage:
        """Return outcomes with their results, as many as may be read at once."""
        opened: list[ChildOutcome] = []
        size = 0
        for outcome in page.outcomes:
            if size > MOST_OPENED:
                return OutcomePage(tuple(opened), has_more=True)
            if is_reference(outcome.result):
                outcome = replace(outcome, result=await self._blobs.read(outcome.result))  # noqa: PLW2901
                size += len(outcome.result)
            opened.append(outcome)
        return OutcomePage(tuple(opened), page.has_more)

    async def _kept(self, tasks: list[NewTask]) -> list[NewTask]:
        """Return tasks with large payloads as references to blobs, which are written first."""
        return [
            replace(task, payload=await self._blobs.keep(task.id, task.payload))
            if self._blobs.is_large(len(task.payload))
            else task
            for task in tasks
        ]

    async def links(
        self,
        task: TaskId,
        *,
        after: TaskId | None = None,
        limit: int = 100,
        round: int | None = None,
        tenant: str | None = None,
    ) -> LinkPage:
        """Return the children of a task, or of a round of it, in the order of name, key and place; or `NotFound`."""
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page:,}", field="limit")
        found = await self._children.links(task, after=after, limit=limit, round=round, tenant=tenant)
        if isinstance(found, NotFound):
            raise found
        return found

    async def children(  # noqa: PLR0913 - all but the first three say which page
        self,
        task: TaskId,
        shape: type[ChildShape],
        time: Callable[[Instant], Any],
        *,
        after: TaskId | None = None,
        limit: int = 100,
        round: int | None = None,
        tenant: str | None = None,
    ) -> ChildPage[ChildShape]:
        """Return the children of a task, or of a round of it, in one of the API's shapes; or raise `NotFound`."""
        page = await self.links(task, after=after, limit=limit, round=round, tenant=tenant)
        views = await self._queries.get([link.child for link in page.links], tenant=tenant, payload=False)
        now = Instant(await self._queries.now())
        shown = [
            show_child(shape, link, view, now=now, time=time)
            for link, view in zip(page.links, views, strict=True)
            if view is not None
        ]
        return ChildPage(tuple(shown), page.links[-1].child if page.has_more else None)

    async def work_notes(self) -> int:
        """Cancel and retry children whose parents have ended or were retried; return how many were."""
        count = 0
        while True:
            done = await self._children.work_notes()
            self._control.follow(done.changed)
            count += len(done.changed)
            if done.is_done:
                return count
