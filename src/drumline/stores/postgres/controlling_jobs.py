"""What people do to jobs: cancel, resume; and to one task of a job: run it again."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.following import Member, revive
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobStatus
from drumline.core.state import Act, State, step
from drumline.ports.hint import Effects, Hint
from drumline.ports.jobs import ChangedJob
from drumline.ports.store import Changed
from drumline.stores.driver import Line, tell_facts
from drumline.stores.job_rows import (
    RUN_IFS,
    JobRow,
    check_revival,
    job_fact,
    job_row,
    jobs_changed,
    pending_jobs,
    retried,
)
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.database import Transaction
from drumline.stores.postgres.dead_letters import drop_dead_letters
from drumline.stores.postgres.endings import Ending, record
from drumline.stores.postgres.following import lock_jobs, moved_by
from drumline.stores.postgres.holding_back import count_parents, hold_back
from drumline.stores.postgres.rippling import Rippling

Answer = ChangedJob | NotFound | Conflict
Jobs = Mapping[str, JobRow]
"""Jobs that are locked: the one that is acted on, and those that it depends on."""


class Standing(NamedTuple):
    """A task of a job as it stands; the order is that of members.sql."""

    id: TaskId
    key: str
    state: State
    run_if: int
    cause: TaskId | None
    epoch: int
    attempt: int
    lane: int
    parents: tuple[TaskId, ...]


class Stand(NamedTuple):
    """Where a task stands; the order is that of stands.sql."""

    id: TaskId
    lane: int
    state: State
    epoch: int
    attempt: int
    due_at: int
    session: int | None
    started_at: int | None
    in_job: bool
    letter: int | None = None
    """The epoch of its dead letter, if it has one."""


class ControllingJobs(Rippling):
    """The controlling part of `ports.jobs.Jobs` on PostgreSQL."""

    async def start_jobs(self, jobs: Sequence[JobId]) -> Effects:
        """Note that tasks of these jobs have been claimed, and return the jobs for which that is news."""

        async def start(transaction: Transaction) -> Effects:
            rows = [job_row(row) for row in await transaction.fetch("start_jobs", ids=list(jobs), now=self._now())]
            await tell_facts(transaction, [job_fact("started", row) for row in rows], now=self._now())
            return jobs_changed(sorted(rows))

        return await self._database.transact(Line.CLAIM, start, repeat=True)

    async def cancel_jobs(
        self, jobs: Sequence[JobId], *, tenant: str | None = None, force: bool = False, reason: str | None = None
    ) -> list[Answer]:
        """Cancel the waiting tasks of jobs at once and ask the running ones to stop; `force` ends those too, now."""
        return [await self._act_on_job(job, tenant, partial(self._cancel_job, force, reason)) for job in jobs]

    async def resume_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[Answer]:
        """Run the failed, cancelled and skipped tasks of jobs again, and only those; results are kept."""
        return [await self._act_on_job(job, tenant, self._resume_job) for job in jobs]

    async def _act_on_job(
        self,
        id_: JobId,
        tenant: str | None,
        act: Callable[[Transaction, JobRow, Jobs], Awaitable[Effects | Conflict]],
    ) -> Answer:
        unknown = NotFound(f"there is no job {id_}", field="id")
        # As with tasks: whose a job is never changes, and what ends with it cannot be ended within the wall.
        if tenant is not None and not await self._database.fetch(
            Line.DESK, "jobs", repeat=True, within=tenant, ids=[id_]
        ):
            return unknown

        async def locked(transaction: Transaction) -> Answer:
            needed = [str(other) for _, other in await transaction.fetch("deps", ids=[id_])]
            jobs = await lock_jobs(transaction, [id_, *needed])
            job = jobs.get(id_)
            if job is None or (tenant is not None and job.tenant != tenant):
                return unknown
            effects = await act(transaction, job, {other: jobs[other] for other in needed if other in jobs})
            if isinstance(effects, Conflict):
                return effects
            ((_, *after),) = await transaction.fetch("jobs", ids=[id_])
            return ChangedJob(id=id_, status=job_row([id_, *after]).status, effects=effects)

        return await self._database.transact(Line.DESK, locked)

    async def _cancel_job(
        self, force: bool, reason: str | None, transaction: Transaction, job: JobRow, _needed: Jobs
    ) -> Effects | Conflict:
        if job.has_ended:
            return Conflict(f"the job has ended: it is {job.status.lower()}")
        act = Act.FORCE_CANCEL if force else Act.CANCEL
        await transaction.fetch("request_job_cancel", job=job.id, reason=reason)
        endings = []
        asked = []
        for task, state, lane, epoch, attempt, session, started_at, _ in await transaction.fetch(
            "lock_in_job", job=job.id
        ):
            is_running = state == State.RUNNING
            if step(State(state), act) is State.RUNNING:
                asked.append(task)
                continue
            endings.append(
                Ending(
                    id=TaskId(str(task)),
                    act=act,
                    state=State.CANCELLED,
                    epoch=epoch if is_running else epoch + 1,
                    lane=lane,
                    attempt=attempt,
                    session=session if is_running else None,
                    started_at=started_at if is_running else None,
                )
            )
        if asked:
            await transaction.fetch("request_cancel", ids=asked, act=NUMBER_OF[act], now=self._now())
        await record(transaction, endings, now=self._now())
        ended = [(job.id, each.state, each.started_at) for each in endings]
        changed = await self._tally(transaction, ended, {job.id: job})
        return moved_by(endings) + changed

    async def _resume_job(self, transaction: Transaction, job: JobRow, needed: Jobs) -> Effects | Conflict:
        if job.status is JobStatus.COMPLETED:
            return Conflict("the job has completed: there is nothing to run again")
        return await self._revive(transaction, job, needed)

    async def _retry_in_job(self, transaction: Transaction, stand: Stand) -> Changed | Conflict:
        """Run one task of a job again, and what was skipped because of it; the jobs are locked."""
        try:
            step(stand.state, Act.RETRY)
        except Conflict as conflict:
            return conflict
        ((_, job, _),) = await transaction.fetch("in_jobs", ids=[stand.id])
        needed = [str(other) for _, other in await transaction.fetch("deps", ids=[job])]
        jobs = await lock_jobs(transaction, [str(job), *needed])
        others = {other: jobs[other] for other in needed if other in jobs}
        effects = await self._revive(transaction, jobs[str(job)], others, stand.id)
        return effects if isinstance(effects, Conflict) else retried(stand.id, effects)

    async def _revive(
        self,
        transaction: Transaction,
        job: JobRow,
        needed: Jobs,
        only: TaskId | None = None,
    ) -> Effects | Conflict:
        standings = {each.id: each for each in map(_standing, await transaction.fetch("members", job=job.id))}
        revival = revive({each.id: _member(each) for each in standings.values()}, only)
        try:
            check_revival(job, revival)
            pending = pending_jobs({JobId(other.id): (other.name, other.status) for other in needed.values()})
        except Conflict as conflict:
            return conflict
        queued, blocked = (revival.queued, revival.blocked) if not pending else ([], revival.queued + revival.blocked)
        count = Counter(standings[task].state for task in queued + blocked)
        await transaction.fetch("mark_deps", job=job.id, pending=pending)
        await count_parents(transaction, revival.counted)
        (row,) = await transaction.fetch(
            "revive_job",
            job=job.id,
            failed=count[State.FAILED],
            cancelled=count[State.CANCELLED],
            skipped=count[State.SKIPPED],
            pending_jobs=len(pending),
        )
        hints = await self._bring_back(transaction, standings, queued, blocked)
        held_back = await hold_back(transaction, revival.held_back, now=self._now())
        after = job_row(row)
        await tell_facts(transaction, [job_fact("resumed", after)], now=self._now())
        await drop_dead_letters(transaction, queued + blocked)
        return Effects(
            released=tuple(hints),
            moved=tuple((task, State.BLOCKED) for task in [*blocked, *held_back]),
            renews=True,
            epochs=(*((task, standings[task].epoch + 1) for task in queued + blocked), *held_back.items()),
        ) + jobs_changed([after] if after.status is not job.status else [])

    async def _bring_back(
        self,
        transaction: Transaction,
        standings: Mapping[TaskId, Standing],
        queued: Sequence[TaskId],
        blocked: Sequence[TaskId],
    ) -> list[Hint]:
        """Give tasks a live row again, and return those that wait to be claimed."""
        ((now,),) = await transaction.fetch("now", now=self._now())
        tasks = [standings[task] for task in [*queued, *blocked]]
        await transaction.fetch(
            "revive",
            ids=[each.id for each in tasks],
            lanes=[each.lane for each in tasks],
            states=[int(State.QUEUED)] * len(queued) + [int(State.BLOCKED)] * len(blocked),
            epochs=[each.epoch + 1 for each in tasks],
            attempts=[each.attempt for each in tasks],
            acts=[NUMBER_OF[Act.RETRY]] * len(queued) + [NUMBER_OF[Act.RESUME]] * len(blocked),
            due_at=now,
        )
        lanes = await self._lanes.lanes({standings[task].lane for task in queued})
        return [Hint(task, lanes[standings[task].lane], Instant(now)) for task in queued]


def _standing(row: Iterable[Any]) -> Standing:
    task, key, state, run_if, cause, epoch, attempt, lane, parents = row
    return Standing(
        TaskId(str(task)), key, State(state), run_if, None if cause is None else TaskId(str(cause)), epoch, attempt,
        lane, tuple(TaskId(str(parent)) for parent in parents),
    )  # fmt: skip


def _member(each: Standing) -> Member:
    return Member(each.state, RUN_IFS[each.run_if], each.parents, each.cause)
