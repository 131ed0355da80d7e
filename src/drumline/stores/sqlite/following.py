"""Job tasks whose parents have ended, on SQLite: there is one writer, so a job needs no lock of its own."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from drumline.core.attempt import OUTCOME_OF
from drumline.core.clock import Clock, Instant
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.ports.hint import NO_EFFECTS, Effects, Hint
from drumline.stores.driver import TaskEvent, Transaction
from drumline.stores.endings import Ending
from drumline.stores.job_rows import JobRow, Tally, job_row
from drumline.stores.parts.following import Ended, JobFollowing, Members, lock_jobs, tally_columns
from drumline.stores.sqlite.batches import tell
from drumline.stores.sqlite.database import Statements, connection_of, finish
from drumline.stores.sqlite.dead_letters import drop_dead_letters

UNBLOCKED: Final = Act.UNBLOCK.value
QUEUED: Final = int(State.QUEUED)
NO_JOBS: Final[Mapping[TaskId, str]] = {}


class SqliteFollowing(JobFollowing):
    """`JobFollowing` with its hot half."""

    _clock: Clock

    def _now(self) -> Instant:
        return self._clock.now()

    def follow_ends(
        self,
        connection: sqlite3.Connection,
        ended: Ended,
        queued: Sequence[TaskId],
        jobs: Mapping[TaskId, str] = NO_JOBS,
    ) -> Effects:
        """Do what follows from attempts in jobs that ended: those that ended their task, and those that queued it.

        `jobs` has the jobs of tasks, as far as they are known, that neither were started by others nor started any.
        """
        if not ended and not queued:
            return NO_EFFECTS
        return finish(self._follow_locked(Statements(connection), ended, queued, jobs))

    async def _follow_locked(
        self, transaction: Transaction, ended: Ended, queued: Sequence[TaskId], jobs: Mapping[TaskId, str]
    ) -> Effects:
        tasks = [*ended, *queued]
        if jobs.keys() >= set(tasks):
            members: Members | None = Members(jobs, await lock_jobs(transaction, jobs.values()))
        else:
            members = await self.lock_members(transaction, tasks)
        return NO_EFFECTS if members is None else await self.follow_all(transaction, ended, queued, members)

    async def drop_dead_letters(self, transaction: Transaction, tasks: Sequence[TaskId]) -> None:
        """Drop the dead letters of tasks, if they have any."""
        drop_dead_letters(connection_of(transaction), tasks)

    async def record(self, transaction: Transaction, endings: Sequence[Ending]) -> None:
        """Write the ends of tasks."""
        if not endings:
            return
        now = self._now()
        attempts = [
            (
                each.id, each.epoch, each.attempt, int(OUTCOME_OF[each.act]), None, each.session, each.started_at, now,
                None, each.error,
            )
            for each in endings
        ]  # fmt: skip
        await transaction.fetch("insert_attempts", batch=attempts)
        await transaction.fetch("note_ended_parents", ids=[each.id for each in endings])
        await transaction.fetch("delete_live", ids=[each.id for each in endings])
        events = [TaskEvent(each.id, each.act, each.state, each.epoch) for each in endings]
        await transaction.tell(events, now=now)

    async def release(self, transaction: Transaction, tasks: Sequence[TaskId]) -> list[Hint]:
        """Queue blocked tasks; their own delays count from now."""
        now = self._now()
        rows = sorted(await transaction.fetch("unblock", ids=tasks, now=now))
        tell(connection_of(transaction), now, [(task, UNBLOCKED, QUEUED, epoch) for task, _, _, epoch in rows])
        lanes = await self._lanes.lanes({lane for _, lane, _, _ in rows}, transaction)
        return [Hint(TaskId(task), lanes[lane], Instant(due_at)) for task, lane, due_at, _ in rows]

    async def count_ends(self, transaction: Transaction, tallies: Sequence[Tally]) -> list[JobRow]:
        """Add to the counts of jobs, end those that have no other tasks, and return them as they are after it."""
        rows = await transaction.fetch("tally", **tally_columns(tallies), now=self._now())
        jobs = [job_row(row) for row in rows]
        if ended := [job.id for job in jobs if job.has_ended]:
            await transaction.fetch("insert_ripples", ids=ended)
            await transaction.fetch("insert_ripples_of_watched", ids=ended)
        return jobs
