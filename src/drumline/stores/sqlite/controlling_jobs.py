"""What people do to jobs: cancel, resume; and to one task of a job: run it again."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.following import Member, revive
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobStatus
from drumline.core.state import Act, State, step
from drumline.ports.hint import Effects, Hint
from drumline.ports.jobs import ChangedJob
from drumline.ports.store import Changed
from drumline.stores.job_rows import (
    RUN_IFS,
    STATUS_OF,
    JobRow,
    check_revival,
    job_fact,
    jobs_changed,
    pending_jobs,
    retried,
)
from drumline.stores.sqlite.access import batch_of, event, rows_of, tell, tell_facts
from drumline.stores.sqlite.dead_letters import drop_dead_letters
from drumline.stores.sqlite.following import End, jobs_in, moved_by, tally, write_ends
from drumline.stores.sqlite.holding_back import count_parents, hold_back
from drumline.stores.sqlite.rippling import Rippling
from drumline.stores.sqlite.statements import SQL

Answer = ChangedJob | NotFound | Conflict


class Standing(NamedTuple):
    """A task of a job as it stands; the order is that of members.sql."""

    id: TaskId
    key: str
    state: int
    run_if: int
    cause: TaskId | None
    epoch: int
    attempt: int
    lane: int
    parents: list[TaskId]


class ControllingJobs(Rippling):
    """The controlling part of `ports.jobs.Jobs` on SQLite."""

    async def start_jobs(self, jobs: Sequence[JobId]) -> Effects:
        """Note that tasks of these jobs have been claimed, and return the jobs for which that is news."""

        def start(connection: sqlite3.Connection) -> Effects:
            now = self._now()
            started = [row[0] for row in connection.execute(SQL["start_jobs"], {"ids": batch_of(jobs), "now": now})]
            rows = sorted(jobs_in(connection, started).values())
            tell_facts(connection, now, [job_fact("started", row) for row in rows])
            return jobs_changed(rows)

        return await self._database.write(start)

    async def cancel_jobs(
        self, jobs: Sequence[JobId], *, tenant: str | None = None, force: bool = False, reason: str | None = None
    ) -> list[Answer]:
        """Cancel the waiting tasks of jobs at once and ask the running ones to stop; `force` ends those too, now."""
        return await self._each_job(
            jobs, tenant, lambda connection, job: self._cancel_job(connection, job, force, reason)
        )

    async def resume_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[Answer]:
        """Run the failed, cancelled and skipped tasks of jobs again, and only those; results are kept."""
        return await self._each_job(jobs, tenant, self._resume_job)

    async def _each_job(
        self, jobs: Sequence[JobId], tenant: str | None, act: Callable[[sqlite3.Connection, JobRow], Effects]
    ) -> list[Answer]:
        def one(connection: sqlite3.Connection, id_: JobId) -> Answer:
            job = jobs_in(connection, [id_]).get(id_)
            if job is None or (tenant is not None and job.tenant != tenant):
                return NotFound(f"there is no job {id_}", field="id")
            try:
                effects = act(connection, job)
            except Conflict as conflict:
                return conflict
            return ChangedJob(id=id_, status=jobs_in(connection, [id_])[id_].status, effects=effects)

        return await self._database.write(lambda connection: [one(connection, job) for job in jobs])

    def _cancel_job(self, connection: sqlite3.Connection, job: JobRow, force: bool, reason: str | None) -> Effects:
        if job.has_ended:
            raise Conflict(f"the job has ended: it is {job.status.lower()}")
        now = self._now()
        act = Act.FORCE_CANCEL if force else Act.CANCEL
        connection.execute(SQL["request_job_cancel"], {"job": job.id, "reason": reason})
        ends = []
        asked = connection.execute(SQL["request_cancel_in_job"], {"job": job.id}).fetchall() if not force else []
        tell(connection, now, [event(task, act, State.RUNNING, epoch) for task, epoch in asked])
        for task, number, _, epoch, attempt, session, started_at, _ in connection.execute(
            SQL["live_in_job"], {"job": job.id}
        ).fetchall():
            state = State(number)
            if step(state, act) is State.CANCELLED:
                is_running = state is State.RUNNING
                ends.append(
                    End(
                        task,
                        act,
                        State.CANCELLED,
                        epoch + (not is_running),
                        attempt,
                        session,
                        started_at if is_running else None,
                    )
                )
        write_ends(connection, now, ends)
        changed = tally(connection, now, [(job.id, end.state, end.started_at) for end in ends], {job.id: job})
        return moved_by(ends) + changed

    def _resume_job(self, connection: sqlite3.Connection, job: JobRow) -> Effects:
        if job.status is JobStatus.COMPLETED:
            raise Conflict("the job has completed: there is nothing to run again")
        return self._revive(connection, job, None)

    def _retry_in_job(self, connection: sqlite3.Connection, task: TaskId, state: State) -> Changed:
        """Run one task of a job again, and what was skipped because of it."""
        step(state, Act.RETRY)
        ((_, id_, _),) = rows_of(connection, "in_jobs", {"ids": batch_of([task])})
        effects = self._revive(connection, jobs_in(connection, [id_])[id_], task)
        return retried(task, effects)

    def _revive(self, connection: sqlite3.Connection, job: JobRow, only: TaskId | None) -> Effects:
        standings = {row[0]: Standing(*row) for row in rows_of(connection, "members", {"job": job.id})}
        revival = revive({each.id: _member(each) for each in standings.values()}, only)
        check_revival(job, revival)
        pending = pending_jobs(
            {
                JobId(id_): (name, STATUS_OF[status])
                for id_, name, status in connection.execute(SQL["needed_jobs"], {"job": job.id})
            }
        )
        now = self._now()
        queued, blocked = (revival.queued, revival.blocked) if not pending else ([], revival.queued + revival.blocked)
        connection.execute(SQL["mark_deps"], {"job": job.id, "pending": batch_of(pending)})
        count_parents(connection, revival.counted)
        connection.execute(
            SQL["revive_job"], _revived(job, [standings[task] for task in queued + blocked], len(pending))
        )
        hints = self._bring_back(connection, now, [standings[task] for task in queued], Act.RETRY)
        self._bring_back(connection, now, [standings[task] for task in blocked], Act.RESUME)
        held_back = hold_back(connection, now, revival.held_back)
        drop_dead_letters(connection, queued + blocked)
        after = jobs_in(connection, [job.id])[job.id]
        tell_facts(connection, now, [job_fact("resumed", after)])
        return Effects(
            released=tuple(hints),
            moved=tuple((task, State.BLOCKED) for task in [*blocked, *held_back]),
            renews=True,
            epochs=(*((task, standings[task].epoch + 1) for task in queued + blocked), *held_back.items()),
        ) + jobs_changed([after] if after.status is not job.status else [])

    def _bring_back(
        self, connection: sqlite3.Connection, now: Instant, tasks: Sequence[Standing], act: Act
    ) -> list[Hint]:
        """Give tasks a live row again, and return those that wait to be claimed."""
        state = State.QUEUED if act is Act.RETRY else State.BLOCKED
        due_at = now if act is Act.RETRY else None
        rows = [(each.id, each.lane, due_at, state, each.epoch + 1, each.attempt) for each in tasks]
        connection.execute(SQL["insert_job_live"], {"batch": batch_of(rows)})
        tell(connection, now, [event(each.id, act, state, each.epoch + 1) for each in tasks])
        lanes = self._lanes.lanes_in(connection, [each.lane for each in tasks])
        return [Hint(each.id, lanes[each.lane], now) for each in tasks]


def _member(each: Standing) -> Member:
    return Member(State(each.state), RUN_IFS[each.run_if], each.parents, each.cause)


def _revived(job: JobRow, tasks: Sequence[Standing], waits_for: int) -> dict[str, object]:
    count = Counter(each.state for each in tasks)
    return {
        "job": job.id,
        "failed": count[State.FAILED],
        "cancelled": count[State.CANCELLED],
        "skipped": count[State.SKIPPED],
        "pending_jobs": waits_for,
    }
