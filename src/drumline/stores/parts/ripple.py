"""Jobs that depend on other jobs begin, or fail, when those have ended: one job at a time."""

from functools import partial

from drumline.core.clock import Clock
from drumline.core.ids import TaskId
from drumline.core.job import JobStatus
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.jobs import Rippled
from drumline.stores.driver import Database, Lanes, Line, Part, Transaction
from drumline.stores.endings import Ending, error_text, moved_by
from drumline.stores.job_rows import JobRow, job_error
from drumline.stores.parts.following import JobFollowing, lock_jobs


class JobRipple(Part):
    """`ripple` of `ports.jobs.Jobs`."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes, following: JobFollowing) -> None:
        super().__init__(database, clock, lanes)
        self._following = following

    async def ripple(self, *, limit: int = 100) -> Rippled:
        """Tell up to `limit` jobs that others which they depend on have ended."""
        told, effects = 0, NO_EFFECTS
        for seq, ended in await self._database.fetch(Line.REQUEST, "ripples", repeat=True):
            rows = await self._database.fetch(
                Line.REQUEST, "jobs_waiting_for", repeat=True, needed=ended, limit=limit - told
            )
            for (job,) in rows:
                tell = partial(self._tell_job, waiting=str(job), ended=str(ended))
                led_to = await self._database.transact(Line.REQUEST, tell)
                if led_to is None:
                    break
                told, effects = told + 1, effects + led_to
            if told >= limit:
                return Rippled(told=told, effects=effects, is_done=False)
            # A job that waits for it still, or began to after this read, does so because it was resumed: its next
            # end tells them.
            await self._database.fetch(Line.REQUEST, "delete_ripple", repeat=True, seq=seq)
        return Rippled(told=told, effects=effects)

    async def _tell_job(self, transaction: Transaction, waiting: str, ended: str) -> Effects | None:
        """Tell one job that another has ended, unless it has been told; None if the other was resumed."""
        jobs = await lock_jobs(transaction, [waiting, ended])
        if ended not in jobs or not jobs[ended].has_ended:
            return None
        is_news = await transaction.fetch("dep_done", job=waiting, needed=ended)
        job = jobs.get(waiting)
        if not is_news or job is None or job.has_ended or not job.pending_jobs:
            return NO_EFFECTS
        if jobs[ended].status is not JobStatus.COMPLETED:
            return await self._fail_job(transaction, job, ended, job_error(jobs[ended]))
        return await self._need_less(transaction, job)

    async def _need_less(self, transaction: Transaction, job: JobRow) -> Effects:
        """Let a job, which is locked, wait for one job less; the last one lets it begin."""
        await transaction.fetch("job_needs_less", job=job.id)
        if job.pending_jobs > 1:
            return NO_EFFECTS
        rows = await transaction.fetch("lock_in_job", job=job.id)
        released = await self._following.unblock(transaction, [TaskId(str(row[0])) for row in rows if not row[-1]])
        return Effects(released=tuple(released))

    async def _fail_job(self, transaction: Transaction, job: JobRow, needed: str, error: ErrorInfo) -> Effects:
        """Fail a job, which is locked, because of another; none of its tasks has run."""
        await transaction.fetch("fail_job", job=job.id, needed=needed, reason=error.message)
        endings = [
            Ending(
                id=TaskId(str(task)),
                act=Act.SKIP,
                state=State.SKIPPED,
                epoch=epoch + 1,
                lane=lane,
                attempt=attempt,
                error=error_text(error),
            )
            for task, _, lane, epoch, attempt, *_ in await transaction.fetch("lock_in_job", job=job.id)
        ]
        await self._following.record(transaction, endings)
        changed = await self._following.tally(
            transaction, [(job.id, State.SKIPPED, None) for _ in endings], {job.id: job}
        )
        return moved_by(endings) + changed
