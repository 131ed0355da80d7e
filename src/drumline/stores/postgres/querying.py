"""Looking at tasks, logs, artifacts and queues."""

from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import Any, Final

from msgspec import Raw

from drumline.core.attempt import AttemptView
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.priority import score
from drumline.core.state import State
from drumline.core.task import Lane, TaskView, decode_options
from drumline.engine.off_loop import off_loop
from drumline.ports.query import Holder, WaitingType
from drumline.ports.store import Artifact, ArtifactView, LogPage, QueueView
from drumline.stores.attempt_rows import attempt_view, error_info
from drumline.stores.driver import Line
from drumline.stores.postgres.access import Access

QUEUE_BYTES: Final = 20
"""What showing a queue costs, as bytes of JSON."""


class Querying(Access):
    """`ports.store.Querying` on PostgreSQL, but for the lists."""

    async def now(self) -> Instant:
        """Return the store's time."""
        return await self._time()

    async def get(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, payload: bool = True
    ) -> list[TaskView | None]:
        """Return tasks as they stand; None for those that do not exist (for this tenant)."""
        rows = await self._database.fetch(
            Line.DESK, "get", repeat=True, within=tenant, ids=list(tasks), with_payload=payload
        )
        lanes = await self._lanes.lanes({row[1] for row in rows})
        views = [_view(row, lanes[row[1]]) for row in rows]
        found = {view.id: view for view in views if tenant is None or view.lane.tenant == tenant}
        return [found.get(task) for task in tasks]

    async def attempts(self, task: TaskId, *, tenant: str | None = None) -> list[AttemptView]:
        """Return a task's executions, oldest first, the running one included."""
        rows = await self._database.fetch(Line.DESK, "attempts", repeat=True, within=tenant, id=task, tenant=tenant)
        return [attempt_view(row) for row in rows]

    async def holders(self, executions: Sequence[tuple[TaskId, int]]) -> list[Holder | None]:
        """Return who runs or ran each execution, by task and epoch; None for one that there never was."""
        found: list[Holder | None] = [None] * len(executions)
        ids, epochs = [task for task, _ in executions], [epoch for _, epoch in executions]
        rows = await self._database.fetch(Line.DESK, "holders", repeat=True, ids=ids, epochs=epochs)
        for place, session, nonce in rows:
            found[place - 1] = Holder(session or None, nonce or 0)
        return found

    async def read_log(
        self, task: TaskId, *, after: tuple[int, int] = (0, -1), epoch: int | None = None, tenant: str | None = None
    ) -> LogPage:
        """Return what was logged after a cursor, of one attempt or of all."""
        rows = await self._database.fetch(
            Line.DESK,
            "read_log",
            repeat=True,
            within=tenant,
            id=task,
            epoch=after[0],
            seq=after[1],
            only=epoch,
            tenant=tenant,
        )
        return LogPage("".join(text for _, _, text in rows), (rows[-1][0], rows[-1][1]) if rows else after)

    async def artifacts(self, task: TaskId, *, tenant: str | None = None) -> list[ArtifactView]:
        """Return what files a task made."""
        rows = await self._database.fetch(Line.DESK, "artifacts", repeat=True, within=tenant, id=task, tenant=tenant)
        return [
            ArtifactView(name=name, content_type=content_type, size=size, created_at=Instant(created_at))
            for name, content_type, size, created_at in rows
        ]

    async def artifact(self, task: TaskId, name: str, *, tenant: str | None = None) -> Artifact | None:
        """Return one file."""
        rows = await self._database.fetch(
            Line.DESK, "artifact", repeat=True, within=tenant, id=task, name=name, tenant=tenant
        )
        return Artifact(task=task, name=name, content_type=rows[0][0], data=rows[0][1]) if rows else None

    async def count_ahead(self, task: TaskView, *, limit: int) -> int:
        """Return how many due tasks of a queued task's queue come before it, counting up to `limit`."""
        ((count,),) = await self._database.fetch(
            Line.DESK,
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

    async def queues(self, *, tenant: str | None = None) -> list[QueueView]:
        """Return the queues that have tasks or are paused."""
        if tenant is not None:
            return await self._queues_of(tenant)
        rows = await self._database.fetch(Line.BROAD, "queues", repeat=True, now=self._now())
        return await off_loop(QUEUE_BYTES * len(rows), lambda: [
            QueueView(
                tenant=owner, name=name, pending=pending, queued=queued, processing=processing,
                oldest_due_at=oldest_due_at, is_paused=is_paused, reason=reason,
                waiting=tuple(starmap(WaitingType, zip(*waiting, strict=True))) if waiting[0] else (),
            )
            for owner, name, pending, queued, processing, oldest_due_at, is_paused, reason, *waiting in rows
        ])  # fmt: skip

    async def _queues_of(self, tenant: str) -> list[QueueView]:
        """Return a tenant's queues: which there are is looked up within its wall, how much is in them is counted."""
        rows = await self._database.fetch(Line.BROAD, "queue_names", repeat=True, within=tenant, tenant=tenant)
        lanes = [lane for row in rows for lane in row[1]]
        counted = await self._database.fetch(Line.BROAD, "count_lanes", repeat=True, lanes=lanes, now=self._now())
        counts = {lane: (numbers, oldest) for lane, *numbers, oldest in counted}

        def queues() -> list[QueueView]:
            return [
                _queue(
                    tenant, name,
                    [(named, *counts[lane]) for lane, named in zip(own, names, strict=True) if lane in counts],
                    is_paused=is_paused, reason=reason,
                )
                for name, own, names, is_paused, reason in rows
            ]  # fmt: skip

        return await off_loop(QUEUE_BYTES * (len(rows) + len(lanes)), queues)


def _queue(
    tenant: str, name: str, lanes: list[tuple[str, list[int], Instant | None]], *, is_paused: bool, reason: str | None
) -> QueueView:
    pending, queued, processing = (sum(numbers[place] for _, numbers, _ in lanes) for place in range(3))
    return QueueView(
        tenant=tenant, name=name, pending=pending, queued=queued, processing=processing,
        oldest_due_at=min((oldest for _, _, oldest in lanes if oldest is not None), default=None),
        is_paused=is_paused, reason=reason,
        waiting=tuple(
            WaitingType(named, numbers[1], oldest) for named, numbers, oldest in lanes if oldest is not None
        ),
    )  # fmt: skip


def _view(row: Iterable[Any], lane: Lane) -> TaskView:
    (
        task, _, state, created_at, due_at, epoch, attempt, failures, crashes, cancel_requested, started_at,
        finished_at, session, options, key, result, error, payload,
    ) = row  # fmt: skip
    return TaskView(
        id=TaskId(str(task)), lane=lane, state=State(state), created_at=created_at, due_at=due_at, epoch=epoch,
        attempt=attempt, failures=failures, crashes=crashes, cancel_requested=cancel_requested,
        started_at=started_at, finished_at=finished_at, worker=session, options=decode_options(options),
        idempotency_key=key, payload=_raw(payload), result=_raw(result), error=error_info(error),
    )  # fmt: skip


def _raw(data: bytes | None) -> Raw | None:
    return None if data is None else Raw(data)
