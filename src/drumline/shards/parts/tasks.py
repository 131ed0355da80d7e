"""Reading tasks and queues, what attempts leave behind, what people do to them, and when they expire."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, not_

from msgspec import Raw

from drumline.core.attempt import AttemptView, Progress, ProgressNote
from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.log_lines import LogPiece, LogPlace
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status
from drumline.core.task import Lane, TaskView
from drumline.ports.changed import Changed
from drumline.ports.control import Change
from drumline.ports.expiry import DueExpiries
from drumline.ports.outputs import Artifact, ArtifactView, LogChunk
from drumline.ports.query import Count, Found, Holder, QueueView, TaskFilter, WaitingType, count_up_to
from drumline.ports.store import Store
from drumline.shards.asking import is_not_found
from drumline.shards.parts.merging import Part, earliest, newest

_of_task = attrgetter("task")


def _is_none(answer: object) -> bool:
    return answer is None


class TaskQueries(Part):
    """`ports.query.Querying`."""

    async def now(self) -> Instant:
        """Return the directory's time: shards' clocks may differ a little."""
        return await self._router.directory.queries.now()

    async def get(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, payload: bool = True
    ) -> list[TaskView | None]:
        """Return tasks as they stand; None for those that do not exist (for this tenant)."""
        return await self._router.split(
            tasks,
            lambda store, part: store.queries.get(part, tenant=tenant, payload=payload),
            is_absent=_is_none,
        )

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
        lists = await self._router.each(
            lambda store: store.queries.list_tasks(which, limit=limit, before=before, payload=payload, errors=errors)
        )
        return newest(lists, limit=limit)

    async def small_payloads(
        self, tasks: Sequence[TaskId], *, largest: int, tenant: str | None = None
    ) -> list[bytes | None]:
        """Return payloads of tasks that were listed; None for those above `largest` bytes or in the blob store."""
        return await self._router.split(
            tasks, lambda store, part: store.queries.small_payloads(part, largest=largest, tenant=tenant)
        )

    async def search_tasks(
        self,
        which: TaskFilter,
        *,
        limit: int,
        before: TaskId | None = None,
        payload: bool = False,
        errors: bool = True,
    ) -> Found:
        """Return tasks that match a filter with all its conditions, newest first, and from where to go on.

        Shards get to different places. What one has found below the place where another stopped is left for later:
        the other may have newer ones.
        """
        found = await self._router.each(
            lambda store: store.queries.search_tasks(which, limit=limit, before=before, payload=payload, errors=errors)
        )
        rest = max((part.rest for part in found if part.rest is not None), default=None)
        seen = [[view for view in part.tasks if rest is None or view.id >= rest] for part in found]
        tasks = tuple(newest(seen, limit=limit + 1))
        if len(tasks) > limit:
            return Found(tasks[:limit], tasks[limit - 1].id)
        return Found(tasks, rest)

    async def attempts(self, task: TaskId, *, tenant: str | None = None) -> list[AttemptView]:
        """Return a task's executions, oldest first, the running one included."""
        return await self._router.one(task, lambda store: store.queries.attempts(task, tenant=tenant))

    async def holders(self, executions: Sequence[tuple[TaskId, int]]) -> list[Holder | None]:
        """Return who runs or ran each execution, by task and epoch; None for one that there never was."""
        return await self._router.split(
            executions, lambda store, part: store.queries.holders(part), key=lambda each: each[0], is_absent=_is_none
        )

    async def queues(self, *, tenant: str | None = None) -> list[QueueView]:
        """Return the queues that have tasks or are paused, each with what waits in all shards."""
        queues: dict[tuple[str, str], QueueView] = {}
        for views in await self._router.each(lambda store: store.queries.queues(tenant=tenant)):
            for view in views:
                known = queues.get((view.tenant, view.name))
                queues[view.tenant, view.name] = view if known is None else _together(known, view)
        return [queues[name] for name in sorted(queues)]

    async def count_lanes(self, *, up_to: int, tenant: str | None = None) -> int:
        """Return how many lanes the shard has that has most: each has its own."""
        return max(await self._router.each(lambda store: store.queries.count_lanes(up_to=up_to, tenant=tenant)))

    async def existing_lanes(self, lanes: Iterable[Lane]) -> frozenset[Lane]:
        """Return those of some lanes that there are in any shard."""
        wanted = frozenset(lanes)
        found = await self._router.each(lambda store: store.queries.existing_lanes(wanted))
        return frozenset().union(*found)

    async def count_ahead(self, task: TaskView, *, limit: int) -> int:
        """Return how many due tasks of a queued task's queue come before it, counting up to `limit`."""
        return min(limit, sum(await self._router.each(lambda store: store.queries.count_ahead(task, limit=limit))))

    async def count_tasks(
        self,
        *,
        limit: int,
        looked_at: int | None = None,
        tenant: str | None = None,
        queue: str | None = None,
        name: str | None = None,
    ) -> Mapping[Status, Count]:
        """Return how many tasks have each status, counting each up to `limit`, however many others there are."""
        found = await self._router.each(
            lambda store: store.queries.count_tasks(
                limit=limit, looked_at=looked_at, tenant=tenant, queue=queue, name=name
            )
        )
        return {status: _added([counts[status] for counts in found if status in counts], limit) for status in Status}


def _added(counts: Sequence[Count], limit: int) -> Count:
    return count_up_to(limit, sum(count.count for count in counts), is_more=any(count.is_more for count in counts))


def _together(one: QueueView, other: QueueView) -> QueueView:
    """Return a queue as two shards see it together."""
    counts: Counter[str] = Counter()
    oldest: dict[str, Instant] = {}
    for waiting in one.waiting + other.waiting:
        counts[waiting.name] += waiting.queued
        oldest[waiting.name] = min(oldest.get(waiting.name, waiting.oldest_due_at), waiting.oldest_due_at)
    return QueueView(
        tenant=one.tenant,
        name=one.name,
        pending=one.pending + other.pending,
        queued=one.queued + other.queued,
        processing=one.processing + other.processing,
        oldest_due_at=earliest([one.oldest_due_at, other.oldest_due_at]),
        is_paused=one.is_paused or other.is_paused,
        reason=one.reason if one.reason is not None else other.reason,
        waiting=tuple(WaitingType(name, counts[name], oldest[name]) for name in sorted(counts)),
    )


class Outputs(Part):
    """`ports.outputs.Outputs`: all of it is where its task is."""

    async def append_log(self, chunks: Sequence[LogChunk]) -> None:
        """Keep pieces of logs; a piece that is there already is kept once."""
        await self._router.tell(chunks, lambda store, part: store.outputs.append_log(part), key=_of_task)

    async def first_logs(
        self, tasks: Sequence[TaskId], *, pieces: int, longest: int, tenant: str | None = None
    ) -> list[tuple[LogPiece, ...]]:
        """Return how the log of each task begins: its first pieces, each up to `longest` characters."""
        return await self._router.split(
            tasks,
            lambda store, part: store.outputs.first_logs(part, pieces=pieces, longest=longest, tenant=tenant),
            is_absent=not_,
        )

    async def log_from(
        self, task: TaskId, place: LogPlace, *, pieces: int, longest: int, tenant: str | None = None
    ) -> tuple[LogPiece, ...]:
        """Return how the log of a task goes on at a place: the next pieces, each up to `longest` characters."""
        return await self._router.one(
            task,
            lambda store: store.outputs.log_from(task, place, pieces=pieces, longest=longest, tenant=tenant),
            is_absent=not_,
        )

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file under its task and name; a later one replaces it."""
        await self._router.tell([artifact], lambda store, part: store.outputs.put_artifact(part[0]), key=_of_task)

    async def artifacts(self, task: TaskId, *, tenant: str | None = None) -> list[ArtifactView]:
        """Return what files a task made."""
        return await self._router.one(task, lambda store: store.outputs.artifacts(task, tenant=tenant))

    async def artifact(self, task: TaskId, name: str, *, tenant: str | None = None) -> Artifact | None:
        """Return one file."""
        return await self._router.one(task, lambda store: store.outputs.artifact(task, name, tenant=tenant))

    async def put_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Note how far attempts are, each lease once; of one that is not current nothing is kept."""
        await self._router.tell(
            notes, lambda store, part: store.outputs.put_progress(part), key=lambda note: note.lease.task
        )

    async def progress(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Progress | None]:
        """Return how far the attempts are that run now; None where nothing runs, or nothing was said."""
        return await self._router.split(
            tasks, lambda store, part: store.outputs.progress(part, tenant=tenant), is_absent=_is_none
        )


class Control(Part):
    """`ports.control.Controlling`.

    Which queues are paused is decided by the directory: `shards.copies.DirectoryCopies` brings every other shard in
    line with it, also one that could not be reached when a queue was paused or resumed.
    """

    async def cancel(
        self,
        tasks: Sequence[TaskId],
        *,
        tenant: str | None = None,
        force: bool = False,
        errors: Mapping[TaskId, ErrorInfo] | None = None,
    ) -> list[Changed | NotFound | Conflict]:
        """Cancel waiting tasks at once and ask running ones to stop; `force` ends running ones too, now."""
        return await self._router.split(
            tasks,
            lambda store, part: store.control.cancel(
                part,
                tenant=tenant,
                force=force,
                errors=None if errors is None else {task: errors[task] for task in part},
            ),
            is_absent=is_not_found,
        )

    async def reschedule(
        self, changes: Sequence[Change], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Change when queued tasks are due, or their priority."""
        return await self._router.split(
            changes,
            lambda store, part: store.control.reschedule(part, tenant=tenant),
            key=_of_task,
            is_absent=is_not_found,
        )

    async def retry(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Changed | NotFound | Conflict]:
        """Queue ended tasks again, due now, with their retries to spend anew; epochs go on rising."""
        return await self._router.split(
            tasks, lambda store, part: store.control.retry(part, tenant=tenant), is_absent=is_not_found
        )

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None, is_copy: bool = False) -> None:
        """Hand out no more tasks of a queue; running ones go on.

        The directory keeps it; a shard that cannot be reached now hands out no more once it is back.
        """
        await self._router.directory.control.pause_queue(queue, tenant=tenant, reason=reason, is_copy=is_copy)
        await self._router.others(
            lambda store: store.control.pause_queue(queue, tenant=tenant, reason=reason, is_copy=True)
        )

    async def resume_queue(self, queue: str, *, tenant: str, is_copy: bool = False) -> None:
        """Hand out a paused queue's tasks again; a shard that cannot be reached now does so once it is back."""
        await self._router.directory.control.resume_queue(queue, tenant=tenant, is_copy=is_copy)
        await self._router.others(lambda store: store.control.resume_queue(queue, tenant=tenant, is_copy=True))

    async def retry_edited(self, task: TaskId, payload: Raw, *, tenant: str | None = None) -> Changed:
        """Queue an ended task again with another payload; what it was given before is kept as a `PayloadEdit`."""
        return await self._router.one(task, lambda store: store.control.retry_edited(task, payload, tenant=tenant))


class Expiry(Part):
    """`ports.expiry.Expiry`."""

    async def expired(self, tasks: Sequence[TaskId]) -> dict[TaskId, Instant]:
        """Return which tasks expired before they started, and when; a task that was claimed too late is one of them."""

        async def moments(store: Store, part: list[TaskId]) -> list[Instant | None]:
            known = await store.expiry.expired(part)
            return [known.get(task) for task in part]

        found = await self._router.split(tasks, moments, is_absent=_is_none)
        return {task: at for task, at in zip(tasks, found, strict=True) if at is not None}

    async def due_expiries(self, *, limit: int) -> DueExpiries:
        """Return up to `limit` tasks whose expiry time has come, earliest first."""
        found = await self._router.each(lambda store: store.expiry.due_expiries(limit=limit))
        waiting = sorted(((at, task) for due in found for task, at in due.waiting.items()))[:limit]
        over = [task for due in found for task in due.over]
        return DueExpiries({task: at for at, task in waiting}, over[: limit - len(waiting)])

    async def forget_expiries(self, tasks: Sequence[TaskId]) -> None:
        """Let tasks expire no more: they have started in time, or ended. A later retry of one does not expire."""
        await self._router.tell(tasks, lambda store, part: store.expiry.forget_expiries(part))
