"""Releases, skips and counts in jobs that follow when tasks of them end, in the transaction that ends them.

The jobs are locked first. What is hot, or writes tasks, is each store's own: see the methods of `JobFollowing` that are
not implemented here.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.job_steps import Following, begun, follow, may_skip, skip_error
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.ports.changed import Changed
from drumline.ports.hint import NO_EFFECTS, Effects, Hint
from drumline.stores.driver import Part, TaskEvent, Transaction, tell_facts
from drumline.stores.endings import Ending, error_text, held_back_by, is_queued, moved_by
from drumline.stores.job_rows import (
    RUN_IFS,
    WORD_OF,
    Blocked,
    JobRow,
    Tally,
    job_fact,
    job_row,
    jobs_changed,
    tally_of,
)


class Members(NamedTuple):
    """Tasks of jobs, and the jobs that are locked for them."""

    job_of: Mapping[TaskId, str]
    jobs: Mapping[str, JobRow]


Ended = Mapping[TaskId, tuple[State, int | None]]
"""The tasks of jobs that have ended, how, and when they were started, if that is known."""


class JobFollowing(Part):
    """Releases and skips tasks of jobs when those that they need have ended."""

    async def record(self, transaction: Transaction, endings: Sequence[Ending]) -> None:
        """Write the ends of tasks whose live rows are locked."""
        raise NotImplementedError

    async def release(self, transaction: Transaction, tasks: Sequence[TaskId]) -> list[Hint]:
        """Queue blocked tasks, sorted by id; their own delays count from now."""
        raise NotImplementedError

    async def count_ends(self, transaction: Transaction, tallies: Sequence[Tally]) -> list[JobRow]:
        """Add to the counts of jobs, end those that have no other tasks, and return them as they are after it.

        A job that has ended is noted for `ripple` if others depend on it.
        """
        raise NotImplementedError

    async def drop_dead_letters(self, transaction: Transaction, tasks: Sequence[TaskId]) -> None:
        """Drop the dead letters of tasks, if they have any."""
        raise NotImplementedError

    async def note_queued(self, answers: Iterable[Changed | NotFound | Conflict]) -> None:
        """Let claims begin to search where acts have queued tasks, if the store remembers where to begin."""

    async def lock_members(
        self, transaction: Transaction, tasks: Sequence[TaskId], *, with_needed: bool = False
    ) -> Members | None:
        """Lock the jobs of tasks, before anything else is locked; None if they belong to none.

        `with_needed` locks the jobs that those depend on too.
        """
        rows = await transaction.fetch("in_jobs", ids=list(tasks))
        if not rows:
            return None
        job_of = {TaskId(task): str(job) for task, job, _ in rows}
        wanted = set(job_of.values())
        if with_needed:
            wanted |= {str(other) for _, other in await transaction.fetch("deps", ids=list(wanted))}
        return Members(job_of, await lock_jobs(transaction, wanted))

    async def record_in_jobs(self, transaction: Transaction, endings: Sequence[Ending], members: Members) -> Effects:
        """Write endings, and what follows from them: of tasks of these jobs, or of none."""
        await self.record(transaction, endings)
        mine = [each for each in endings if each.id in members.job_of]
        ended = {each.id: (each.state, each.started_at) for each in mine if not is_queued(each)}
        return await self.follow_all(transaction, ended, [each.id for each in mine if is_queued(each)], members)

    async def follow_all(
        self, transaction: Transaction, ended: Ended, queued: Sequence[TaskId], members: Members
    ) -> Effects:
        """Do what follows from attempts in jobs that ended: those that ended their task, and those that queued it."""
        effects = await self.follow(transaction, ended, members) if ended else NO_EFFECTS
        # After the ends: what ended in the same list holds no task back.
        held_back = await self._hold_back_early(transaction, queued)
        return effects + held_back_by(held_back) if held_back else effects

    async def follow(self, transaction: Transaction, ended: Ended, members: Members) -> Effects:
        """Release and skip what waited for tasks that have just ended, and count them in their jobs."""
        states = {task: state for task, (state, _) in ended.items()}
        blocked = await _blocked_by(transaction, states)
        following = begun(
            follow(states, {each.id: each.waiting() for each in blocked.values()}),
            lambda task: members.jobs[blocked[task].job].pending_jobs > 0,
        )
        await count_parents(transaction, following.counted)
        released = await self.unblock(transaction, following.released)
        skips = await self._skip(transaction, following, blocked, states)
        ends = [(members.job_of[task], *end) for task, end in ended.items()]
        ends += [(blocked[each.id].job, State.SKIPPED, None) for each in skips]
        changed = await self.tally(transaction, ends, members.jobs)
        return Effects(released=tuple(released)) + changed + moved_by(skips)

    async def _skip(
        self,
        transaction: Transaction,
        following: Following,
        blocked: Mapping[TaskId, Blocked],
        ended: Mapping[TaskId, State],
    ) -> list[Ending]:
        """Write that tasks are skipped, and why; return what was written."""
        if not following.skipped:
            return []
        keys = {each.id: each.key for each in blocked.values()}
        keys |= {TaskId(task): key for task, _, key in await transaction.fetch("in_jobs", ids=list(ended))}
        skips = [
            _skipped(blocked[task], skip_error(skip, RUN_IFS[blocked[task].run_if], keys=keys, ended=ended))
            for task, skip in following.skipped.items()
        ]
        await self.record(transaction, skips)
        await _blame(transaction, following)
        return skips

    async def unblock(self, transaction: Transaction, tasks: Iterable[TaskId]) -> list[Hint]:
        """Let blocked tasks wait to be claimed."""
        ids = sorted(tasks)
        return await self.release(transaction, ids) if ids else []

    async def tally(
        self,
        transaction: Transaction,
        ended: Iterable[tuple[str, State, int | None]],
        before: Mapping[str, JobRow],
    ) -> Effects:
        """Count tasks that have ended in their jobs, end those that have no others, and return whose status changed.

        `ended` has the job, the state and the start of each task; `before` the jobs as they were locked.
        """
        by_job: defaultdict[str, list[tuple[State, int | None]]] = defaultdict(list)
        for job, state, started_at in ended:
            by_job[job].append((state, started_at))
        tallies = [tally_of(job, ends) for job, ends in sorted(by_job.items())]
        return await self.count(transaction, tallies, before) if tallies else NO_EFFECTS

    async def count(self, transaction: Transaction, tallies: Sequence[Tally], before: Mapping[str, JobRow]) -> Effects:
        """Add to the counts of jobs, and return whose status changed."""
        after = await self.count_ends(transaction, tallies)
        changed = [row for row in after if row.status is not before[row.id].status]
        await tell_facts(transaction, [job_fact(WORD_OF[row.status], row) for row in changed], now=self._now())
        return jobs_changed(changed) if changed else NO_EFFECTS

    async def hold_back(self, transaction: Transaction, tasks: Sequence[TaskId]) -> dict[TaskId, int]:
        """Block queued tasks again, and return those with their epochs."""
        if not tasks:
            return {}
        rows = await transaction.fetch("hold_back", ids=sorted(tasks))
        held_back = dict(sorted((TaskId(str(task)), epoch) for task, epoch in rows))
        events = [TaskEvent(task, Act.RESUME, State.BLOCKED, epoch) for task, epoch in held_back.items()]
        await transaction.tell(events, now=self._now())
        return held_back

    async def _hold_back_early(self, transaction: Transaction, tasks: Sequence[TaskId]) -> dict[TaskId, int]:
        """Block those of some tasks, queued again in this transaction, that need others which run again.

        Those were resumed while an attempt of these was under way; the next one begins after their end.
        """
        if not tasks:
            return {}
        rows = await transaction.fetch("unended_parents", ids=sorted(tasks))
        counted = {TaskId(task): (pending, bad) for task, pending, bad in rows}
        await count_parents(transaction, counted)
        return await self.hold_back(transaction, list(counted))


async def count_parents(transaction: Transaction, counted: Mapping[TaskId, tuple[int, int]]) -> None:
    """Write how many tasks blocked ones still wait for."""
    if counted:
        ids = sorted(counted)
        await transaction.fetch(
            "count_parents", ids=ids, pending=[counted[task][0] for task in ids], bad=[counted[task][1] for task in ids]
        )


async def lock_jobs(transaction: Transaction, jobs: Iterable[str]) -> dict[str, JobRow]:
    """Lock jobs, and return them as they are."""
    rows = [job_row(row) for row in await transaction.fetch("lock_jobs", ids=sorted(set(jobs)))]
    return {row.id: row for row in rows}


def tally_columns(tallies: Sequence[Tally]) -> dict[str, list[object]]:
    """Return the parameters of the statement `tally`, but for the time."""
    return {
        "ids": [each.job for each in tallies],
        "completed": [each.completed for each in tallies],
        "failed": [each.failed for each in tallies],
        "cancelled": [each.cancelled for each in tallies],
        "skipped": [each.skipped for each in tallies],
        "ended": [each.completed + each.failed + each.cancelled + each.skipped for each in tallies],
        "started_at": [each.started_at for each in tallies],
    }


async def _blocked_by(transaction: Transaction, ended: Mapping[TaskId, State]) -> dict[TaskId, Blocked]:
    """Return the blocked tasks that may be released or skipped because of some ends."""
    blocked = [Blocked(*row) for row in await transaction.fetch("children", ids=list(ended))]
    if blocked and may_skip(ended, {each.id: each.waiting() for each in blocked}):
        blocked = [Blocked(*row) for row in await transaction.fetch("descendants", ids=list(ended))]
    return {each.id: each for each in blocked}


def _skipped(blocked: Blocked, error: ErrorInfo) -> Ending:
    return Ending(
        id=blocked.id,
        act=Act.SKIP,
        state=State.SKIPPED,
        epoch=blocked.epoch + 1,
        lane=blocked.lane,
        attempt=blocked.attempt,
        error=error_text(error),
    )


async def _blame(transaction: Transaction, following: Following) -> None:
    causes = {task: skip.cause for task, skip in following.skipped.items() if skip.cause is not None}
    if causes:
        ids = sorted(causes)
        await transaction.fetch("blame", ids=ids, causes=[causes[task] for task in ids])
