"""What the ends of tasks lead to in their jobs, written in the transaction that ends them. The jobs are locked."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from drumline.core.clock import LATEST, Instant
from drumline.core.following import Following, begun, follow, may_skip, skip_error
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.ports.hint import NO_EFFECTS, Effects, Hint
from drumline.stores.driver import tell_facts
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
from drumline.stores.postgres.access import Access
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.cursors import Place
from drumline.stores.postgres.database import Transaction
from drumline.stores.postgres.endings import Ending, bury, error_text, is_queued, record
from drumline.stores.postgres.holding_back import count_parents, hold_back_early

BELOW_ALL: Final = "00000000-0000-0000-0000-000000000000"


class Members(NamedTuple):
    """Tasks of jobs, and the jobs that are locked for them."""

    job_of: Mapping[TaskId, str]
    jobs: Mapping[str, JobRow]


Ended = Mapping[TaskId, tuple[State, int | None]]
"""The tasks of jobs that have ended, how, and when they were started, if that is known."""


class JobFollowing(Access):
    """Lets ends follow from ends."""

    async def _lock_members(
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

    async def _record_in_jobs(self, transaction: Transaction, endings: Sequence[Ending], members: Members) -> Effects:
        """Write endings, and what follows from them: of tasks of these jobs, or of none."""
        await record(transaction, endings, now=self._now())
        ended = {
            each.id: (each.state, each.started_at)
            for each in endings
            if each.id in members.job_of and not is_queued(each)
        }
        effects = await self._follow(transaction, ended, members)
        # After the ends: what ended in the same list holds nobody back.
        queued = [each.id for each in endings if each.id in members.job_of and is_queued(each)]
        held_back = await hold_back_early(transaction, queued, now=self._now())
        await bury(transaction, endings)
        return effects + held_back_by(held_back)

    async def _follow(self, transaction: Transaction, ended: Ended, members: Members) -> Effects:
        """Release and skip what waited for tasks that have just ended, and count them in their jobs."""
        states = {task: state for task, (state, _) in ended.items()}
        blocked = await _blocked_by(transaction, states)
        following = begun(
            follow(states, {each.id: each.waiting() for each in blocked.values()}),
            lambda task: members.jobs[blocked[task].job].pending_jobs > 0,
        )
        await count_parents(transaction, following.counted)
        released = await self._unblock(transaction, following.released)
        skips = await self._skip(transaction, following, blocked, states)
        ends = _ends(ended, members)
        ends += [(blocked[each.id].job, State.SKIPPED, None) for each in skips]
        changed = await self._tally(transaction, ends, members.jobs)
        return Effects(released=tuple(released)) + changed + moved_by(skips)

    async def _follow_completed(
        self, transaction: Transaction, tasks: Sequence[TaskId], members: Members, started: Mapping[TaskId, int]
    ) -> Effects:
        """Do the same for tasks that have all completed: nearly always that skips nobody, and is one statement."""
        ((*waiting, is_asked),) = await transaction.fetch(
            "release_completed", ids=tasks, act=NUMBER_OF[Act.UNBLOCK], now=self._now()
        )
        if is_asked:
            ended = {task: (State.COMPLETED, started.get(task)) for task in tasks}
            return await self._follow(transaction, ended, members)
        released = await self._hints(*waiting)
        counts = Counter([members.job_of[task] for task in tasks])
        starts = {members.job_of[task]: started_at for task, started_at in started.items()}
        tallies = [Tally(job, completed=counts[job], started_at=starts.get(job)) for job in sorted(counts)]
        changed = await self._count(transaction, tallies, members.jobs)
        return Effects(released=tuple(released)) + changed if released or changed else NO_EFFECTS

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
        await record(transaction, skips, now=self._now())
        await _blame(transaction, following)
        return skips

    async def _unblock(self, transaction: Transaction, tasks: Iterable[TaskId]) -> list[Hint]:
        """Let blocked tasks wait to be claimed."""
        ids = sorted(tasks)
        if not ids:
            return []
        (waiting,) = await transaction.fetch("unblock", ids=ids, act=NUMBER_OF[Act.UNBLOCK], now=self._now())
        return await self._hints(*waiting)

    async def _hints(
        self, tasks: Sequence[Any] | None, lanes: Sequence[int] | None, due_at: Sequence[int] | None
    ) -> list[Hint]:
        """Return what waits to be claimed now, given as arrays."""
        if tasks is None or lanes is None or due_at is None:
            return []
        known = await self._lanes.lanes(set(lanes))
        firsts: dict[int, int] = {}
        for lane, due in zip(lanes, due_at, strict=True):
            if due < firsts.get(lane, LATEST):
                firsts[lane] = due
        # Before the commit, which may fail: then a claim begins to look too early, which does no harm.
        for lane, due in firsts.items():
            self._cursors.queued(lane, Place(due, BELOW_ALL))
        return [
            Hint(TaskId(str(task)), known[lane], Instant(due))
            for task, lane, due in zip(tasks, lanes, due_at, strict=True)
        ]

    async def _tally(
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
        return await self._count(transaction, tallies, before) if tallies else NO_EFFECTS

    async def _count(self, transaction: Transaction, tallies: Sequence[Tally], before: Mapping[str, JobRow]) -> Effects:
        rows = await transaction.fetch("tally", **_tally_columns(tallies), now=self._now())
        after = [job_row(row) for row in rows]
        changed = [row for row in after if row.status is not before[row.id].status]
        await tell_facts(transaction, [job_fact(WORD_OF[row.status], row) for row in changed], now=self._now())
        return jobs_changed(changed) if changed else NO_EFFECTS


def moved_by(endings: Sequence[Ending]) -> Effects:
    """Return the ends of tasks as what acts led to."""
    return Effects(
        moved=tuple((each.id, each.state) for each in endings), epochs=tuple((each.id, each.epoch) for each in endings)
    )


def held_back_by(epochs: Mapping[TaskId, int]) -> Effects:
    """Return tasks that wait for others again, with their epochs, as what acts led to."""
    return Effects(moved=tuple((task, State.BLOCKED) for task in epochs), epochs=tuple(epochs.items()))


def _ends(ended: Ended, members: Members) -> list[tuple[str, State, int | None]]:
    return [(members.job_of[task], *end) for task, end in ended.items()]


async def lock_jobs(transaction: Transaction, jobs: Iterable[str]) -> dict[str, JobRow]:
    """Lock jobs, and return them as they stand."""
    rows = [job_row(row) for row in await transaction.fetch("lock_jobs", ids=sorted(set(jobs)))]
    return {row.id: row for row in rows}


async def _blocked_by(transaction: Transaction, ended: Mapping[TaskId, State]) -> dict[TaskId, Blocked]:
    """Return the blocked tasks that may be released or skipped because of some ends."""
    if not ended:
        return {}
    blocked = [_blocked(row) for row in await transaction.fetch("children", ids=list(ended))]
    if blocked and may_skip(ended, {each.id: each.waiting() for each in blocked}):
        blocked = [_blocked(row) for row in await transaction.fetch("descendants", ids=list(ended))]
    return {each.id: each for each in blocked}


def _blocked(row: Iterable[Any]) -> Blocked:
    task, job, key, run_if, pending, bad, lane, epoch, attempt, parents = row
    return Blocked(task, job, key, run_if, pending, bad, lane, epoch, attempt, parents)


def _skipped(blocked: Blocked, error: ErrorInfo) -> Ending:
    """Return what is written of a task that is skipped: without an execution, its last row has an epoch of its own."""
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


def _tally_columns(tallies: Sequence[Tally]) -> dict[str, list[object]]:
    return {
        "ids": [each.job for each in tallies],
        "completed": [each.completed for each in tallies],
        "failed": [each.failed for each in tallies],
        "cancelled": [each.cancelled for each in tallies],
        "skipped": [each.skipped for each in tallies],
        "ended": [each.completed + each.failed + each.cancelled + each.skipped for each in tallies],
        "started_at": [each.started_at for each in tallies],
    }
