"""Cancelling and resuming jobs, and running one task of a job again."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobStatus
from drumline.core.job_steps import JobMember, revive
from drumline.core.state import Act, State, step
from drumline.ports.hint import Effects, Hint
from drumline.ports.jobs import ChangedJob
from drumline.ports.store import Changed
from drumline.stores.driver import Line, TaskEvent, Transaction, tell_facts
from drumline.stores.endings import Ending, moved_by
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
from drumline.stores.parts.families import renew_family
from drumline.stores.parts.following import count_parents, lock_jobs
from drumline.stores.parts.ripple import JobRipple

Answer = ChangedJob | NotFound | Conflict
LockedJobs = Mapping[str, JobRow]
"""Jobs that are locked: the one that is acted on, and those that it depends on."""


class JobTask(NamedTuple):
    """A task of a job as it is; the order is that of the statement `members`."""

    id: TaskId
    key: str
    state: State
    run_if: int
    cause: TaskId | None
    epoch: int
    attempt: int
    lane: int
    parents: tuple[TaskId, ...]


class TaskRow(NamedTuple):
    """A task as an act finds it; the columns are those of the statement `task_states`."""

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


class JobControl(JobRipple):
    """`start_jobs`, `cancel_jobs` and `resume_jobs` of `ports.jobs.Jobs`."""

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
        return [await self._act_on_job(job, tenant, partial(self.cancel_job, force, reason)) for job in jobs]

    async def resume_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[Answer]:
        """Run the failed, cancelled and skipped tasks of jobs again, and only those; results are kept."""
        answers = [await self._act_on_job(job, tenant, self._resume_job) for job in jobs]
        await self._following.note_queued(answers)
        return answers

    async def request_cancel(self, transaction: Transaction, tasks: Sequence[TaskId], act: Act) -> None:
        """Ask running tasks to stop."""
        if tasks:
            rows = await transaction.fetch("request_cancel", ids=tasks)
            events = [TaskEvent(TaskId(str(task)), act, State.RUNNING, epoch) for task, epoch in rows]
            await transaction.tell(events, now=self._now())

    async def bring_back(
        self,
        transaction: Transaction,
        queued: Sequence["JobTask | TaskRow"],
        blocked: Sequence["JobTask | TaskRow"] = (),
        *,
        due_at: Instant,
        in_job: bool,
    ) -> None:
        """Give ended tasks a live row again; they do not expire any more."""
        tasks = [(each, Act.RETRY, State.QUEUED) for each in queued]
        tasks += [(each, Act.RESUME, State.BLOCKED) for each in blocked]
        await transaction.fetch("delete_expiries", ids=[each.id for each, _, _ in tasks])
        await transaction.fetch("forget_failures", ids=[each.id for each, _, _ in tasks])
        await renew_family(transaction, [each.id for each, _, _ in tasks])
        await transaction.fetch(
            "revive",
            ids=[each.id for each, _, _ in tasks],
            lanes=[each.lane for each, _, _ in tasks],
            states=[int(state) for _, _, state in tasks],
            epochs=[each.epoch + 1 for each, _, _ in tasks],
            attempts=[each.attempt for each, _, _ in tasks],
            due_at=due_at,
            in_job=in_job,
        )
        events = [TaskEvent(each.id, act, state, each.epoch + 1) for each, act, state in tasks]
        await transaction.tell(events, now=self._now())

    async def _act_on_job(
        self,
        id_: JobId,
        tenant: str | None,
        act: Callable[[Transaction, JobRow, LockedJobs], Awaitable[Effects | Conflict]],
    ) -> Answer:
        unknown = NotFound(f"there is no job {id_}", field="id")
        # As with tasks: the tenant of a job never changes, and what ends with it cannot be ended within the wall.
        if tenant is not None and not await self._database.fetch(
            Line.REQUEST, "jobs", repeat=True, within=tenant, ids=[id_]
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

        return await self._database.transact(Line.REQUEST, locked)

    async def cancel_job(
        self, force: bool, reason: str | None, transaction: Transaction, job: JobRow, _needed: LockedJobs
    ) -> Effects | Conflict:
        """Cancel a job that is locked, as part of a transaction."""
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
                asked.append(TaskId(str(task)))
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
        await self.request_cancel(transaction, asked, act)
        await self._following.record(transaction, endings)
        ended = [(job.id, each.state, each.started_at) for each in endings]
        changed = await self._following.tally(transaction, ended, {job.id: job})
        return moved_by(endings) + changed

    async def _resume_job(self, transaction: Transaction, job: JobRow, needed: LockedJobs) -> Effects | Conflict:
        if job.status is JobStatus.COMPLETED:
            return Conflict("the job has completed: there is nothing to run again")
        return await self._revive(transaction, job, needed)

    async def retry_in_job(self, transaction: Transaction, task: TaskRow) -> Changed | Conflict:
        """Run one task of a job again, and what was skipped because of it; the jobs are locked."""
        try:
            step(task.state, Act.RETRY)
        except Conflict as conflict:
            return conflict
        ((_, job, _),) = await transaction.fetch("in_jobs", ids=[task.id])
        needed = [str(other) for _, other in await transaction.fetch("deps", ids=[job])]
        jobs = await lock_jobs(transaction, [str(job), *needed])
        others = {other: jobs[other] for other in needed if other in jobs}
        effects = await self._revive(transaction, jobs[str(job)], others, task.id)
        return effects if isinstance(effects, Conflict) else retried(task.id, effects)

    async def _revive(
        self,
        transaction: Transaction,
        job: JobRow,
        needed: LockedJobs,
        only: TaskId | None = None,
    ) -> Effects | Conflict:
        members = {each.id: each for each in map(_job_task, await transaction.fetch("members", job=job.id))}
        revival = revive({each.id: _member(each) for each in members.values()}, only)
        try:
            check_revival(job, revival)
            pending = pending_jobs({JobId(other.id): (other.name, other.status) for other in needed.values()})
        except Conflict as conflict:
            return conflict
        far = await transaction.fetch("far_deps", job=job.id)
        pending = sorted({*pending, *(JobId(str(other)) for other, is_done in far if not is_done)})
        queued, blocked = (revival.queued, revival.blocked) if not pending else ([], revival.queued + revival.blocked)
        count = Counter(members[task].state for task in queued + blocked)
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
        ((now,),) = await transaction.fetch("now", now=self._now())
        due_at = Instant(now)
        back = [members[task] for task in queued], [members[task] for task in blocked]
        await self.bring_back(transaction, *back, due_at=due_at, in_job=True)
        lanes = await self._lanes.lanes({members[task].lane for task in queued}, transaction)
        held_back = await self._following.hold_back(transaction, revival.held_back)
        after = job_row(row)
        await tell_facts(transaction, [job_fact("resumed", after)], now=self._now())
        await self._following.drop_dead_letters(transaction, queued + blocked)
        return Effects(
            released=tuple(Hint(task, lanes[members[task].lane], due_at) for task in queued),
            moved=tuple((task, State.BLOCKED) for task in [*blocked, *held_back]),
            renews=True,
            epochs=(*((task, members[task].epoch + 1) for task in queued + blocked), *held_back.items()),
        ) + jobs_changed([after] if after.status is not job.status else [])


def _job_task(row: Iterable[Any]) -> JobTask:
    task, key, state, run_if, cause, epoch, attempt, lane, parents = row
    return JobTask(
        TaskId(str(task)), key, State(state), run_if, None if cause is None else TaskId(str(cause)), epoch, attempt,
        lane, tuple(TaskId(str(parent)) for parent in parents),
    )  # fmt: skip


def _member(each: JobTask) -> JobMember:
    return JobMember(each.state, RUN_IFS[each.run_if], each.parents, each.cause)
