"""What the ends of tasks lead to in their jobs, written in the transaction that ends them.

There is one writer, so a job needs no lock of its own.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from drumline.core.attempt import OUTCOME_OF
from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.following import begun, follow, may_skip, skip_error
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.ports.hint import NO_EFFECTS, Effects, Hint
from drumline.stores.job_rows import RUN_IFS, WORD_OF, Blocked, JobRow, job_fact, job_row, jobs_changed, tally_of
from drumline.stores.sqlite.access import Access, batch_of, event, rows_of, tell, tell_facts
from drumline.stores.sqlite.holding_back import count_parents, hold_back_early
from drumline.stores.sqlite.statements import SQL


class End(NamedTuple):
    """An end that is written here: of a task that waited, or that was taken from its worker."""

    task: TaskId
    act: Act
    state: State
    epoch: int
    """A task that waited ends without an execution, so its last row has an epoch of its own."""
    attempt: int
    session: int | None = None
    started_at: int | None = None
    error: ErrorInfo | None = None


Ended = Mapping[TaskId, tuple[State, int | None]]
"""The tasks that have ended, how, and when they were started, if they were."""


class JobFollowing(Access):
    """Lets ends follow from ends."""

    def _follow_all(
        self, connection: sqlite3.Connection, now: Instant, ended: Ended, queued: Sequence[TaskId]
    ) -> Effects:
        """Let follow what ends of attempts in jobs lead to: those that ended their task, and those that queued it."""
        effects = self._follow(connection, now, ended) if ended else NO_EFFECTS
        # After the ends: what ended in the same list holds nobody back.
        held_back = hold_back_early(connection, now, queued)
        if not held_back:
            return effects
        moved = tuple((task, State.BLOCKED) for task in held_back)
        return effects + Effects(moved=moved, epochs=tuple(held_back.items()))

    def _follow(self, connection: sqlite3.Connection, now: Instant, ended: Ended) -> Effects:
        """Release and skip what waited for tasks that have just ended, and count them in their jobs."""
        rows = rows_of(connection, "in_jobs", {"ids": batch_of(list(ended))})
        if not rows:
            return NO_EFFECTS
        jobs = {TaskId(task): str(job) for task, job, _ in rows}
        keys = {TaskId(task): str(key) for task, _, key in rows}
        states = {task: ended[task][0] for task in jobs}
        blocked = _blocked_by(connection, states)
        keys |= {each.id: each.key for each in blocked.values()}
        before = jobs_in(connection, jobs.values())
        following = begun(
            follow(states, {each.id: each.waiting() for each in blocked.values()}),
            lambda task: before[blocked[task].job].pending_jobs > 0,
        )
        count_parents(connection, following.counted)
        released = self._unblock(connection, now, following.released)
        skips = [
            End(task, Act.SKIP, State.SKIPPED, blocked[task].epoch + 1, blocked[task].attempt, error=error)
            for task, skip in following.skipped.items()
            for error in [skip_error(skip, RUN_IFS[blocked[task].run_if], keys=keys, ended=states)]
        ]
        write_ends(connection, now, skips)
        blame = [(task, skip.cause) for task, skip in following.skipped.items() if skip.cause is not None]
        if blame:
            connection.execute(SQL["blame"], {"batch": batch_of(blame)})
        all_ended = [(jobs[task], *ended[task]) for task in jobs]
        all_ended += [(blocked[task].job, State.SKIPPED, None) for task in following.skipped]
        changed = tally(connection, now, all_ended, before)
        return Effects(released=tuple(released)) + changed + moved_by(skips)

    def _unblock(self, connection: sqlite3.Connection, now: Instant, tasks: Sequence[TaskId]) -> list[Hint]:
        """Let blocked tasks wait to be claimed."""
        if not tasks:
            return []
        rows = sorted(connection.execute(SQL["unblock"], {"ids": batch_of(tasks), "now": now}).fetchall())
        tell(connection, now, [event(task, Act.UNBLOCK, State.QUEUED, epoch) for task, _, _, epoch in rows])
        lanes = self._lanes.lanes_in(connection, [lane for _, lane, _, _ in rows])
        return [Hint(TaskId(task), lanes[lane], Instant(due_at)) for task, lane, due_at, _ in rows]


def write_ends(connection: sqlite3.Connection, now: Instant, ends: Sequence[End]) -> None:
    """Write the ends of tasks that waited, or that were taken from their workers."""
    if not ends:
        return
    attempts = [
        (
            each.task, each.epoch, each.attempt, int(OUTCOME_OF[each.act]), None, each.session, each.started_at, now,
            None, None if each.error is None else encode(each.error).decode(),
        )
        for each in ends
    ]  # fmt: skip
    connection.execute(SQL["insert_attempts"], {"batch": batch_of(attempts)})
    connection.execute(SQL["delete_live"], {"ids": batch_of([each.task for each in ends])})
    tell(connection, now, [event(each.task, each.act, each.state, each.epoch) for each in ends])


def moved_by(ends: Sequence[End]) -> Effects:
    """Return the ends of tasks as what acts led to."""
    return Effects(
        moved=tuple((each.task, each.state) for each in ends), epochs=tuple((each.task, each.epoch) for each in ends)
    )


def jobs_in(connection: sqlite3.Connection, jobs: Iterable[str]) -> dict[str, JobRow]:
    """Return jobs as they stand."""
    rows = connection.execute(SQL["jobs"], {"ids": batch_of(sorted(set(jobs)))}).fetchall()
    return {row[0]: job_row(row) for row in rows}


def tally(
    connection: sqlite3.Connection,
    now: Instant,
    ended: Iterable[tuple[str, State, int | None]],
    before: Mapping[str, JobRow],
) -> Effects:
    """Count tasks that have ended in their jobs, end those that have no others, and return whose status changed.

    `ended` has the job, the state and the start of each task; `before` the jobs as they were.
    """
    by_job: defaultdict[str, list[tuple[State, int | None]]] = defaultdict(list)
    for job, state, started_at in ended:
        by_job[job].append((state, started_at))
    tallies = [tally_of(job, ends) for job, ends in sorted(by_job.items())]
    ids = batch_of(sorted(by_job))
    connection.execute(SQL["tally"], {"batch": batch_of(tallies)})
    connection.execute(SQL["end_jobs"], {"ids": ids, "now": now})
    after = jobs_in(connection, by_job)
    changed = [row for job, row in after.items() if row.status is not before[job].status]
    connection.execute(SQL["insert_ripples"], {"ids": batch_of([row.id for row in changed if row.has_ended])})
    tell_facts(connection, now, [job_fact(WORD_OF[row.status], row) for row in changed])
    return jobs_changed(changed)


def _blocked_by(connection: sqlite3.Connection, ended: Mapping[TaskId, State]) -> dict[TaskId, Blocked]:
    """Return the blocked tasks that may be released or skipped because of some ends."""
    parameters = {"ids": batch_of(list(ended))}
    blocked = [Blocked(*row) for row in rows_of(connection, "children", parameters)]
    if blocked and may_skip(ended, {each.id: each.waiting() for each in blocked}):
        blocked = [Blocked(*row) for row in rows_of(connection, "descendants", parameters)]
    return {each.id: each for each in blocked}
