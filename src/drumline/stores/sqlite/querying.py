"""Looking at tasks, logs, artifacts and queues."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Raw

from drumline.core.attempt import AttemptView
from drumline.core.clock import Instant
from drumline.core.codec import decode
from drumline.core.ids import TaskId
from drumline.core.priority import score
from drumline.core.state import State, Status, states_of
from drumline.core.task import Lane, TaskView, decode_options
from drumline.engine.off_loop import off_loop
from drumline.ports.query import Holder, WaitingType
from drumline.ports.store import Artifact, ArtifactView, LogPage, QueueView, TaskFilter
from drumline.stores.attempt_rows import attempt_view, error_info
from drumline.stores.sqlite.access import Access, batch_of
from drumline.stores.sqlite.statements import SQL

QUEUE_BYTES: Final = 20
"""What showing a queue costs, as bytes of JSON."""


class Querying(Access):
    """`ports.store.Querying` on SQLite."""

    async def now(self) -> Instant:
        """Return the store's time."""
        return self._now()

    async def get(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, payload: bool = True
    ) -> list[TaskView | None]:
        """Return tasks as they stand; None for those that do not exist (for this tenant)."""
        rows = await self._rows("get", {"ids": batch_of(tasks), "tenant": tenant})
        found = {row[0]: _view(row, payload=payload) for row in rows}
        return [found.get(task) for task in tasks]

    async def list_tasks(
        self, which: TaskFilter, *, limit: int, before: TaskId | None = None, payload: bool = False
    ) -> list[TaskView]:
        """Return tasks, newest first, starting below `before`."""
        states = [int(state) for status in which.statuses for state in states_of(status) if state is not State.QUEUED]
        parameters = {
            "before": before, "tenant": which.tenant, "queue": which.queue, "name": which.name, "worker": which.worker,
            "key": which.idempotency_key, "job": which.job, "tag": which.tag,
            "finished_since": which.finished_since,
            "states": batch_of(states) if which.statuses else None,
            "pending": Status.PENDING in which.statuses, "queued": Status.QUEUED in which.statuses,
            "now": self._now(), "with_payload": payload, "limit": limit,
        }  # fmt: skip
        return [_view(row, payload=payload) for row in await self._rows("list_tasks", parameters)]

    async def attempts(self, task: TaskId, *, tenant: str | None = None) -> list[AttemptView]:
        """Return a task's executions, oldest first, the running one included."""
        return [attempt_view(row) for row in await self._rows("attempts", {"id": task, "tenant": tenant})]

    async def holders(self, executions: Sequence[tuple[TaskId, int]]) -> list[Holder | None]:
        """Return who runs or ran each execution, by task and epoch; None for one that there never was."""
        found: list[Holder | None] = [None] * len(executions)
        for place, session, nonce in await self._rows("holders", {"batch": batch_of(executions)}):
            found[place] = Holder(session or None, nonce or 0)
        return found

    async def read_log(
        self, task: TaskId, *, after: tuple[int, int] = (0, -1), epoch: int | None = None, tenant: str | None = None
    ) -> LogPage:
        """Return what was logged after a cursor, of one attempt or of all."""
        wanted = {"id": task, "epoch": after[0], "seq": after[1], "only": epoch, "tenant": tenant}
        rows = await self._rows("read_log", wanted)
        return LogPage("".join(text for _, _, text in rows), (rows[-1][0], rows[-1][1]) if rows else after)

    async def artifacts(self, task: TaskId, *, tenant: str | None = None) -> list[ArtifactView]:
        """Return what files a task made."""
        return [
            ArtifactView(name=name, content_type=content_type, size=size, created_at=Instant(created_at))
            for name, content_type, size, created_at in await self._rows("artifacts", {"id": task, "tenant": tenant})
        ]

    async def artifact(self, task: TaskId, name: str, *, tenant: str | None = None) -> Artifact | None:
        """Return one file."""
        rows = await self._rows("artifact", {"id": task, "name": name, "tenant": tenant})
        return Artifact(task=task, name=name, content_type=rows[0][0], data=rows[0][1]) if rows else None

    async def count_ahead(self, task: TaskView, *, limit: int) -> int:
        """Return how many due tasks of a queued task's queue come before it, counting up to `limit`."""
        ((count,),) = await self._rows(
            "count_ahead",
            {
                "tenant": task.lane.tenant,
                "queue": task.lane.queue,
                "score": score(task.due_at or 0, task.lane.priority),
                "now": self._now(),
                "limit": limit,
            },
        )
        return int(count)

    async def queues(self, *, tenant: str | None = None) -> list[QueueView]:
        """Return the queues that have tasks or are paused."""
        rows = await self._rows("queues", {"tenant": tenant, "now": self._now()})
        return await off_loop(QUEUE_BYTES * len(rows), lambda: [
            QueueView(
                tenant=owner, name=name, pending=pending, queued=queued, processing=processing,
                oldest_due_at=oldest_due_at, is_paused=bool(is_paused), reason=reason,
                waiting=tuple(WaitingType(*one) for one in decode(waiting, list[tuple[str, int, Instant]])),
            )
            for owner, name, pending, queued, processing, oldest_due_at, is_paused, reason, waiting in rows
        ])  # fmt: skip

    async def _rows(self, name: str, parameters: dict[str, Any]) -> list[Any]:
        def look(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(SQL[name], parameters).fetchall()

        return await self._database.read(look)


def _view(row: Any, *, payload: bool) -> TaskView:
    (
        task, tenant, queue, name, priority, state, created_at, due_at, epoch, attempt, failures, crashes,
        cancel_requested, started_at, finished_at, session, options, key, result, error, body,
    ) = row  # fmt: skip
    return TaskView(
        id=task, lane=Lane(tenant, queue, name, priority), state=State(state), created_at=created_at, due_at=due_at,
        epoch=epoch, attempt=attempt, failures=failures, crashes=crashes, cancel_requested=bool(cancel_requested),
        started_at=started_at, finished_at=finished_at, worker=session, options=decode_options(options),
        idempotency_key=key, payload=_raw(body) if payload else None, result=_raw(result), error=error_info(error),
    )  # fmt: skip


def _raw(text: str | None) -> Raw | None:
    return None if text is None else Raw(text.encode())
