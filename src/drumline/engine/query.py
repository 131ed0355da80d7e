"""Looking at tasks, logs, artifacts and queues."""

from collections.abc import AsyncIterator, Collection, Sequence
from operator import attrgetter
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.attempt import AttemptView, Progress
from drumline.core.clock import Clock
from drumline.core.errors import Invalid, NotFound
from drumline.core.ids import TaskId, parse_task_id
from drumline.core.limits import Limits
from drumline.core.state import TERMINAL, State, Status
from drumline.core.task import TaskView
from drumline.engine.blobs import Blobs
from drumline.engine.endings import Endings
from drumline.engine.log_reading import LogReader
from drumline.engine.paging import FEWEST, MOST, bounded_page
from drumline.engine.read_model_notes import ReadModelNotes
from drumline.ports.store import Artifact, ArtifactView, Querying, Store, TaskFilter

LOOK_EVERY = 0.5
"""Seconds between looks at something that another process may change."""
LARGEST_LOG: Final = 64 * 1024 * 1024
"""Characters of a log that one request reads, of all attempts together."""
LOG_GOES_ON: Final = "\n[the log goes on: read it attempt by attempt]\n"
ATTEMPT_GOES_ON: Final = "\n[the log of this attempt goes on: follow the log of the task]\n"


class TaskPage(Struct, frozen=True):
    """A stretch of a list, and the cursor that continues it."""

    items: tuple[TaskView, ...]
    next_cursor: str | None
    is_partial: bool = False
    """Whether a search stopped before it had found a whole page: the cursor goes on with it."""


class Queries:
    """What people ask. A `tenant` of None sees every tenant's."""

    def __init__(
        self,
        store: Store,
        endings: Endings,
        notes: ReadModelNotes,
        *,
        blobs: Blobs,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._endings = endings
        self._notes = notes
        self._clock = clock
        self._limits = limits

    async def get(self, task: TaskId, *, tenant: str | None = None) -> TaskView:
        """Return a task, or raise `NotFound`. Blobs are left where they are: `opened` reads them."""
        (view,) = await self._store.queries.get([task], tenant=tenant)
        if view is None:
            raise NotFound(f"there is no task {task}", field="id")
        return view

    async def opened(self, view: TaskView) -> TaskView:
        """Return a task with the payload and the result that it has in the blob store, to be shown."""
        return await self._blobs.open_view(view)

    async def status(self, task: TaskId, *, tenant: str | None = None) -> Status:
        """Return the status of a task, cheaply: it may be out of date for a moment. Raises `NotFound`."""
        known = await self._notes.status(task, tenant)
        if known is not None:
            return known
        view = await self.get(task, tenant=tenant)
        self._notes.seen(view, tenant)
        return view.status(self._clock.now())

    async def wait(self, task: TaskId, *, seconds: float, tenant: str | None = None) -> TaskView:
        """Return a task once it has ended, or in its current state after `seconds`."""
        deadline = self._clock.monotonic() + seconds
        while True:
            view = await self.get(task, tenant=tenant)
            left = deadline - self._clock.monotonic()
            if view.state in TERMINAL or left <= 0:
                return await self.opened(view)
            await self._endings.wait(task, min(left, LOOK_EVERY))

    async def wait_for_any(
        self, tasks: Collection[TaskId], *, seconds: float, tenant: str | None = None
    ) -> tuple[TaskId, ...]:
        """Return those of some tasks that will not change any more, as soon as there is one, or none after `seconds`.

        A task that does not exist (for this tenant, or any more) counts as ended: nothing is left to wait for.
        """
        asked = tuple(dict.fromkeys(tasks))
        deadline = self._clock.monotonic() + seconds
        while True:
            views = await self._store.queries.get(asked, tenant=tenant, payload=False)
            ended = tuple(
                task for task, view in zip(asked, views, strict=True) if view is None or view.state in TERMINAL
            )
            left = deadline - self._clock.monotonic()
            if ended or not asked or left <= 0:
                return ended
            await self._endings.wait_for_any(asked, min(left, LOOK_EVERY))

    async def list_tasks(
        self,
        which: TaskFilter,
        *,
        limit: int = 100,
        cursor: str | None = None,
        payload: bool = False,
        payload_up_to: int = 0,
        traceback: bool = True,
    ) -> TaskPage:
        """Return a page of tasks, newest first: with payloads and results, or with payloads up to so many bytes.

        It ends early if they, or their errors, are large; without `traceback` errors only say what happened.
        """
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")
        before = None if cursor is None else parse_task_id(cursor, field="cursor")
        if which.also is not None:
            page = await self._search(which, limit=limit, before=before, payload=payload, up_to=payload_up_to)
        elif payload:
            page = await large_page(self._store.queries, which, self._blobs, limit=limit, before=before)
        else:
            page = await self._listed(which, limit=limit, before=before, up_to=payload_up_to, traceback=traceback)
        return page if traceback else replace(page, items=tuple(map(without_traceback, page.items)))

    async def _listed(
        self, which: TaskFilter, *, limit: int, before: TaskId | None, up_to: int, traceback: bool
    ) -> TaskPage:

        async def read(wanted: int, last: TaskView | None) -> Sequence[TaskView]:
            start = before if last is None else last.id
            views = await self._store.queries.list_tasks(which, limit=wanted, before=start)
            shown = views if traceback else [without_traceback(view) for view in views]
            return await self._with_small_payloads(shown, up_to, which.tenant)

        views, more = await bounded_page(read, limit=limit, weigh=_size, at_once=MOST + 1)
        return TaskPage(tuple(views), views[-1].id if more else None)

    async def _search(
        self, which: TaskFilter, *, limit: int, before: TaskId | None, payload: bool, up_to: int
    ) -> TaskPage:
        found = await self._store.queries.search_tasks(which, limit=limit, before=before)
        views = found.tasks
        if views and (payload or up_to):
            views = await self._with_payloads(views, which.tenant, up_to=None if payload else up_to)
            if len(views) < len(found.tasks):
                return TaskPage(views, views[-1].id)
        return TaskPage(views, found.rest, is_partial=found.rest is not None and len(views) < limit)

    async def _with_payloads(
        self, views: Sequence[TaskView], tenant: str | None, *, up_to: int | None
    ) -> tuple[TaskView, ...]:
        """Return tasks with payloads and results, or payloads up to so many bytes; fewer, if those are large."""
        places = {view.id: place for place, view in enumerate(views)}

        async def read(wanted: int, last: TaskView | None) -> Sequence[TaskView]:
            start = 0 if last is None else places[last.id] + 1
            part = views[start : start + wanted]
            if up_to is not None:
                return await self._with_small_payloads(part, up_to, tenant)
            opened = await self._store.queries.get([view.id for view in part], tenant=tenant)
            return await self._blobs.open_views([view or known for view, known in zip(opened, part, strict=True)])

        at_once = FEWEST if up_to is None else MOST + 1
        found, _ = await bounded_page(read, limit=len(views), weigh=_size, at_once=at_once)
        return tuple(found)

    async def _with_small_payloads(
        self, views: Sequence[TaskView], largest: int, tenant: str | None
    ) -> tuple[TaskView, ...]:
        if not largest or not views:
            return tuple(views)
        payloads = await self._store.queries.small_payloads([view.id for view in views], largest=largest, tenant=tenant)
        return tuple(
            view if payload is None else replace(view, payload=Raw(payload))
            for view, payload in zip(views, payloads, strict=True)
        )

    async def progress(self, view: TaskView, *, tenant: str | None = None) -> Progress | None:
        """Return how far a task's attempt is, if one runs and has said so."""
        if view.state is not State.RUNNING:
            return None
        (progress,) = await self._store.outputs.progress([view.id], tenant=tenant)
        return progress

    async def attempts(self, task: TaskId, *, tenant: str | None = None) -> list[AttemptView]:
        """Return a task's executions, oldest first."""
        await self.get(task, tenant=tenant)
        return [view for view in await self._store.queries.attempts(task, tenant=tenant) if view.started_at is not None]

    async def read_log(self, task: TaskId, *, epochs: Collection[int] | None = None, tenant: str | None = None) -> str:
        """Return what a task, or some of its executions, have logged so far: up to `LARGEST_LOG`, and it says so."""
        await self.get(task, tenant=tenant)
        reader = LogReader(self._store.outputs, task, epochs=epochs, tenant=tenant)
        texts: list[str] = []
        size = 0
        while size < LARGEST_LOG:
            text = await reader.read()
            if not text:
                break
            texts.append(text)
            size += len(text)
        else:
            texts.append(LOG_GOES_ON if epochs is None else ATTEMPT_GOES_ON)
        return await off_loop(size, lambda: "".join(texts))

    async def follow_log(self, task: TaskId, *, tenant: str | None = None) -> AsyncIterator[str]:
        """Yield what a task logs, as it comes, until the task has ended."""
        reader = LogReader(self._store.outputs, task, tenant=tenant)
        while True:
            # Look at the state first: what was logged before the end is then surely read after it.
            view = await self.get(task, tenant=tenant)
            text = await reader.read()
            if text:
                yield text
            elif view.state in TERMINAL:
                return
            else:
                await self._endings.wait(task, LOOK_EVERY)

    async def artifacts(self, task: TaskId, *, tenant: str | None = None) -> list[ArtifactView]:
        """Return what files a task made."""
        await self.get(task, tenant=tenant)
        return await self._store.outputs.artifacts(task, tenant=tenant)

    async def artifact(self, task: TaskId, name: str, *, tenant: str | None = None) -> Artifact:
        """Return one file, or raise `NotFound`."""
        await self.get(task, tenant=tenant)
        found = await self._store.outputs.artifact(task, name, tenant=tenant)
        if found is None:
            raise NotFound(f"task {task} has no artifact {name!r}", field="name")
        return found

    async def own(self, tasks: Collection[TaskId], *, tenant: str | None = None) -> frozenset[TaskId]:
        """Return which of some tasks are a tenant's; what it was shown once is not asked for again."""
        unknown = [task for task in dict.fromkeys(tasks) if not self._notes.has_seen(task, tenant)]
        alien = set(unknown)
        for view in await self._store.queries.get(unknown, tenant=tenant, payload=False) if unknown else ():
            if view is not None:
                self._notes.seen(view, tenant)
                alien.discard(view.id)
        return frozenset(task for task in tasks if task not in alien)


async def large_page(
    queries: Querying, which: TaskFilter, blobs: Blobs, *, limit: int, before: TaskId | None
) -> TaskPage:
    """Return a page of tasks with payloads and results; it ends early if those are large."""

    async def read(wanted: int, last: TaskView | None) -> Sequence[TaskView]:
        start = before if last is None else last.id
        return await blobs.open_views(await queries.list_tasks(which, limit=wanted, before=start, payload=True))

    views, more = await bounded_page(read, limit=limit, weigh=_size)
    return TaskPage(tuple(views), views[-1].id if more else None)


def without_traceback(view: TaskView) -> TaskView:
    """Return a task with what its error says, and not where: a traceback is much, and lists show none."""
    if view.error is None or not view.error.traceback:
        return view
    return replace(view, error=replace(view.error, traceback=""))


_size: Final = attrgetter("size")
