"""Releases, skips and counts in jobs that follow when tasks of them end, in the transaction that ends them.

The jobs are locked first. What is hot, or writes tasks, is each store's own: see the methods of `JobFollowing` that are
not implemented here.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.job_steps import Following, Waiting, begun, follow, may_skip, skip_error
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.ports.changed import Changed
from drumline.ports.hint import NO_EFFECTS, Effects, Hint
from drumline.ports.jobs import ChangedJob
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
from drumline.stores.parts.families import Relatives, end_children, lock_relatives


class Members(NamedTuple):
    """Tasks whose end has consequences: the jobs that are locked for them, and the tasks that started them."""

    job_of: Mapping[TaskId, str]
    jobs: Mapping[str, JobRow]
    relatives: Relatives | None = None
    """Those that other tasks started or that started others; None if they were not looked for."""

    @property
    def tasks(self) -> list[TaskId]:
        """All of them."""
        return [*self.job_of, *(task for task in self.relatives or () if task not in self.job_of)]


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

    async def note_queued(self, answers: Iterable[Changed | ChangedJob | NotFound | Conflict]) -> None:
        """Let claims begin to search where acts have queued tasks, if the store remembers where to begin."""

    async def lock_members(
        self, transaction: Transaction, tasks: Sequence[TaskId], *, with_needed: bool = False
    ) -> Members | None:
        """Lock the jobs of tasks and the tasks that started them, before anything else is locked.

        None if their ends have no consequences: they belong to no job, and neither were started by tasks nor started
        any. `with_needed` locks the jobs that those depend on too.
        """
        rows = await transaction.fetch("in_jobs", ids=list(tasks))
        if not rows:
            relatives = await lock_relatives(transaction, tasks)
            return Members({}, {}, relatives) if relatives else None
        job_of = {TaskId(task): str(job) for task, job, _ in rows}
        wanted = set(job_of.values())
        if with_needed:
            wanted |= {str(other) for _, other in await transaction.fetch("deps", ids=list(wanted))}
        jobs = await lock_jobs(transaction, wanted)
        return Members(job_of, jobs, await lock_relatives(transaction, tasks))

    async def record_in_jobs(self, transaction: Transaction, endings: Sequence[Ending], members: Members) -> Effects:
        """Write endings, and what follows from them in jobs and for the tasks that started those."""
        await self.record(transaction, endings)
        ended = {each.id: (each.state, each.started_at) for each in endings if not is_queued(each)}
        return await self.follow_all(transaction, ended, [each.id for each in endings if is_queued(each)], members)

    async def follow_all(
        self, transaction: Transaction, ended: Ended, queued: Sequence[TaskId], members: Members
    ) -> Effects:
        """Do what follows from attempts that ended: those that ended their task, and those that queued it."""
        in_jobs = {task: end for task, end in ended.items() if task in members.job_of}
        effects = await self.follow(transaction, in_jobs, members) if in_jobs else NO_EFFECTS
        # After the ends: what ended in the same list holds no task back.
        held_back = await self._hold_back_early(transaction, [task for task in queued if task in members.job_of])
        if held_back:
            effects += held_back_by(held_back)
        relatives = members.relatives or {}
        children = {task: state for task, (state, _) in ended.items() if relatives.get(task) is not None}
        return effects + await self._end_children(transaction, children) if children else effects

    async def _end_children(self, transaction: Transaction, ended: Mapping[TaskId, State]) -> Effects:
        """Count tasks that others started and that have ended, and let those be claimed that waited for them."""
        woken = await end_children(transaction, ended, self._lanes, self._now())
        await self.note_queued(woken)
        return Effects(released=tuple(each.hint for each in woken if each.hint is not None))

    async def follow(self, transaction: Transaction, ended: Ended, members: Members) -> Effects:
        """Release and skip what waited for tasks that have just ended, and count them in their jobs."""
        states = {task: state for task, (state, _) in ended.items()}
        blocked, waiting = await _blocked_by(transaction, states)
        following = begun(
            follow(states, waiting),
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
        return await self.tell_changed(transaction, [row for row in after if row.status is not before[row.id].status])

    async def tell_changed(self, transaction: Transaction, changed: Sequence[JobRow]) -> Effects:
        """Write into the outbox that jobs have come to another status."""
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


async def _blocked_by(
    transaction: Transaction, ended: Mapping[TaskId, State]
) -> tuple[dict[TaskId, Blocked], dict[TaskId, Waiting]]:
    """Return the blocked tasks that may be released or skipped because of some ends, and what the rules ask of them."""
    blocked = [Blocked(*row) for row in await transaction.fetch("children", ids=list(ended))]
    waiting = {each.id: each.waiting() for each in blocked}
    if blocked and may_skip(ended, waiting):
        blocked = [Blocked(*row) for row in await transaction.fetch("descendants", ids=list(ended))]
        waiting = {each.id: each.waiting() for each in blocked}
    return {each.id: each for each in blocked}, waiting


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
