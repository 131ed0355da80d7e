"""Finding out why a task is not running: what stands around it, looked up only where it can matter."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.durable import CHILD_KINDS, WaitView
from drumline.core.errors import NotFound
from drumline.core.ids import TaskId
from drumline.core.session import SessionView
from drumline.core.state import State
from drumline.core.task import Lane, TaskView
from drumline.core.wait_reasons import MOST_AHEAD, Surroundings, WaitReason, explain
from drumline.ports.store import Store

MOST_NAMED: Final = 10
"""Children that are named of those that a task waits for."""


class WaitReasons:
    """Answers the question."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.paused_names: frozenset[str] = frozenset()
        """Task names that the configuration pauses."""

    async def why(self, task: TaskId, *, tenant: str | None = None) -> tuple[WaitReason, ...]:
        """Return why a task is not running, the weightiest reason first, or raise `NotFound`."""
        found = await self.why_many([task], tenant=tenant)
        if task not in found:
            raise NotFound(f"there is no task {task}", field="id")
        return found[task]

    async def why_many(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None
    ) -> dict[TaskId, tuple[WaitReason, ...]]:
        """Return why each of some tasks is not running; one that does not exist is left out."""
        views = await self._store.queries.get(tasks, tenant=tenant, payload=False)
        now = Instant(await self._store.queries.now())
        sessions = await self._sessions(views, tenant)
        return {
            view.id: explain(view, await self._around(view, now, sessions, tenant))
            for view in views
            if view is not None
        }

    async def _sessions(self, views: Sequence[TaskView | None], tenant: str | None) -> tuple[SessionView, ...]:
        """Return the live workers, where they can matter."""
        if not any(view is not None and view.state is State.QUEUED for view in views):
            return ()
        return tuple(await self._store.sessions.sessions(tenant=tenant))

    async def _around(
        self, view: TaskView, now: Instant, sessions: tuple[SessionView, ...], tenant: str | None
    ) -> Surroundings:
        if view.state is State.BLOCKED:
            return await self._family(view, now, tenant)
        if view.state is not State.QUEUED:
            return Surroundings(now=now)
        waits = await self._waits(view, now, tenant)
        if waits:
            return Surroundings(now=now, waits=waits)
        return Surroundings(
            now=now,
            sessions=sessions,
            pause=await self._pause(view.lane),
            is_name_paused=view.lane.name in self.paused_names,
            limits=tuple(await self._store.limits.limit_uses(view.id, tenant=tenant)),
            ahead=await self._store.queries.count_ahead(view, limit=MOST_AHEAD),
        )

    async def _waits(self, view: TaskView, now: Instant, tenant: str | None) -> tuple[WaitView, ...]:
        """Return what a durable task waits for that is not due."""
        if view.due_at is not None and view.due_at <= now:
            return ()
        found = await self._store.durable.steps(view.id, after=0, limit=1, tenant=tenant)
        if isinstance(found, NotFound):
            return ()
        return tuple([await self._with_children(view.id, wait) for wait in found.waits])

    async def _with_children(self, task: TaskId, wait: WaitView) -> WaitView:
        """Return a wait with some of the children that it is for."""
        if wait.kind not in CHILD_KINDS:
            return wait
        pending = await self._store.children.pending(task, wait.name, wait.key, limit=MOST_NAMED)
        return replace(wait, children=tuple(pending))

    async def _pause(self, lane: Lane) -> str | None:
        # The list of queues counts all that waits: it is asked for only where its reason is wanted.
        if (lane.tenant, lane.queue) not in await self._store.paused_queues():
            return None
        queues = await self._store.queries.queues(tenant=lane.tenant)
        return next((queue.reason or "" for queue in queues if queue.name == lane.queue and queue.is_paused), None)

    async def _family(self, view: TaskView, now: Instant, tenant: str | None) -> Surroundings:
        if view.options.job is None:
            return Surroundings(now=now)
        (job,) = await self._store.jobs.get_jobs([view.options.job], tenant=tenant)
        if job is not None and job.waits_for:
            return Surroundings(now=now, waits_for_jobs=job.waits_for)
        nodes = {node.key: node for node in await self._store.jobs.nodes(view.options.job, tenant=tenant)}
        mine = next((node for node in nodes.values() if node.task == view.id), None)
        needs = () if mine is None else mine.needs
        live = {State.BLOCKED, State.QUEUED, State.RUNNING}
        return Surroundings(now=now, waits_for=tuple(key for key in needs if nodes[key].state in live))
