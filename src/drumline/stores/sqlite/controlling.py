"""What people do to tasks and queues."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.facts import queue_paused, queue_resumed
from drumline.core.ids import TaskId
from drumline.core.state import Act, State, step
from drumline.core.task import Lane
from drumline.ports.store import Change, Changed, Hint
from drumline.stores.sqlite.access import batch_of, event, tell, tell_facts
from drumline.stores.sqlite.controlling_jobs import ControllingJobs
from drumline.stores.sqlite.dead_letters import drop_dead_letters
from drumline.stores.sqlite.following import End, write_ends
from drumline.stores.sqlite.statements import SQL

Answer = Changed | NotFound | Conflict


class Standing(NamedTuple):
    """Where a task stands; the order is that of stands.sql."""

    tenant: str
    queue: str
    name: str
    priority: int
    state: int
    epoch: int
    attempt: int
    nonce: int | None
    session: int | None
    started_at: int | None
    due_at: int
    in_job: bool

    @property
    def lane(self) -> Lane:
        """The lane it is in."""
        return Lane(self.tenant, self.queue, self.name, self.priority)


Doing = Callable[[sqlite3.Connection, TaskId, Standing], Changed]
"""Acts on a task where it stands, or raises `Conflict`."""


class Controlling(ControllingJobs):
    """`ports.store.Controlling` on SQLite."""

    async def cancel(self, tasks: Sequence[TaskId], *, tenant: str | None = None, force: bool = False) -> list[Answer]:
        """Cancel waiting tasks at once and ask running ones to stop; `force` ends running ones too, now."""
        act = Act.FORCE_CANCEL if force else Act.CANCEL
        return await self._each(tasks, tenant, lambda connection, task, at: self._cancel(connection, task, at, act))

    async def reschedule(self, changes: Sequence[Change], *, tenant: str | None = None) -> list[Answer]:
        """Change when queued tasks are due, or their priority."""
        wanted = {change.task: change for change in changes}
        return await self._each(
            [change.task for change in changes],
            tenant,
            lambda connection, task, at: self._reschedule(connection, wanted[task], at),
        )

    async def retry(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Answer]:
        """Queue ended tasks again, due now, with their retries to spend anew; epochs go on rising."""
        return await self._each(tasks, tenant, self._retry)

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None) -> None:
        """Hand out no more tasks of a queue; running ones go on."""
        now = self._now()

        def pause(connection: sqlite3.Connection) -> None:
            connection.execute(SQL["pause_queue"], (tenant, queue, reason, now))
            tell_facts(connection, now, [queue_paused(queue, tenant=tenant, reason=reason)])

        await self._database.write(pause)

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Hand out a paused queue's tasks again."""

        def resume(connection: sqlite3.Connection) -> None:
            if connection.execute(SQL["resume_queue"], (tenant, queue)).rowcount:
                tell_facts(connection, self._now(), [queue_resumed(queue, tenant=tenant)])

        await self._database.write(resume)

    async def _each(self, tasks: Sequence[TaskId], tenant: str | None, doing: Doing) -> list[Answer]:
        return await self._database.write(
            lambda connection: [self._act(connection, task, tenant, doing) for task in tasks]
        )

    def _act(self, connection: sqlite3.Connection, task: TaskId, tenant: str | None, doing: Doing) -> Answer:
        """Act on a task where it stands."""
        row = connection.execute(SQL["stands"], {"id": task}).fetchone()
        at = None if row is None else Standing(*row)
        if at is None or (tenant is not None and at.tenant != tenant):
            return NotFound(f"there is no task {task}", field="id")
        try:
            return doing(connection, task, at)
        except Conflict as conflict:
            return conflict

    def _cancel(self, connection: sqlite3.Connection, task: TaskId, at: Standing, act: Act) -> Changed:
        state = step(State(at.state), act)
        now = self._now()
        if state is State.RUNNING:
            if connection.execute(SQL["request_cancel"], {"id": task}).rowcount:
                tell(connection, now, [event(task, act, state, at.epoch)])
            return Changed(task, state, epoch=at.epoch)
        # A waiting task ends without an execution, so its last row needs an epoch of its own.
        epoch = at.epoch if at.state == State.RUNNING else at.epoch + 1
        write_ends(connection, now, [End(task, act, state, epoch, at.attempt, at.session, at.started_at)])
        if not at.in_job:
            return Changed(task, state, epoch=epoch)
        effects = self._follow(connection, now, {task: (state, at.started_at)})
        return Changed(task, state, effects=effects, epoch=epoch)

    def _reschedule(self, connection: sqlite3.Connection, change: Change, at: Standing) -> Changed:
        state = step(State(at.state), Act.RESCHEDULE)
        now = self._now()
        due_at = Instant(at.due_at)
        if change.run_at is not None:
            due_at = change.run_at
        elif change.delay_ms is not None:
            due_at = Instant(now + change.delay_ms)
        priority = at.priority if change.priority is None else change.priority
        lane = Lane(at.tenant, at.queue, at.name, priority)
        row = {"id": change.task, "due_at": due_at, "lane": self._lanes.number(connection, lane)}
        connection.execute(SQL["reschedule_live"], row)
        connection.execute(SQL["reschedule_task"], row)
        tell(connection, now, [event(change.task, Act.RESCHEDULE, state, at.epoch + 1)])
        return Changed(change.task, state, Hint(change.task, lane, due_at), epoch=at.epoch + 1)

    def _retry(self, connection: sqlite3.Connection, task: TaskId, at: Standing) -> Changed:
        if at.in_job:
            return self._retry_in_job(connection, task, State(at.state))
        state = step(State(at.state), Act.RETRY)
        now = self._now()
        epoch = at.epoch + 1
        row = (task, self._lanes.number(connection, at.lane), now, epoch, at.attempt)
        connection.execute(SQL["insert_live"], {"batch": batch_of([row])})
        drop_dead_letters(connection, [task])
        tell(connection, now, [event(task, Act.RETRY, state, epoch)])
        return Changed(task, state, Hint(task, at.lane, now), epoch=epoch)
