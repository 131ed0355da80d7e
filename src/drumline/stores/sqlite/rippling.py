"""Jobs that wait for other jobs are told when those have ended, one at a time."""

import sqlite3
from functools import partial

from drumline.core.clock import Instant
from drumline.core.job import JobStatus
from drumline.core.state import Act, State
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.jobs import Rippled
from drumline.stores.job_rows import JobRow, job_error
from drumline.stores.sqlite.following import End, JobFollowing, jobs_in, moved_by, tally, write_ends
from drumline.stores.sqlite.statements import SQL


class Rippling(JobFollowing):
    """The rippling part of `ports.jobs.Jobs` on SQLite."""

    async def ripple(self, *, limit: int = 100) -> Rippled:
        """Tell up to `limit` jobs that others which they depend on have ended."""
        told, effects = 0, NO_EFFECTS
        for seq, ended in await self._database.read(lambda connection: connection.execute(SQL["ripples"]).fetchall()):
            for job in await self._database.read(partial(_waiting_for, ended, limit - told)):
                led_to = await self._database.write(partial(self._tell_job, job, ended))
                if led_to is None:
                    break
                told, effects = told + 1, effects + led_to
            if told >= limit:
                return Rippled(told=told, effects=effects, is_done=False)
            # Whoever waits for it still, or began to after we looked, does so because it lives again: its next end
            # tells them.
            await self._change("delete_ripple", {"seq": seq})
        return Rippled(told=told, effects=effects)

    def _tell_job(self, waiting: str, ended: str, connection: sqlite3.Connection) -> Effects | None:
        """Tell one job that another has ended, unless it has been told; None if the other lives again."""
        jobs = jobs_in(connection, [waiting, ended])
        if ended not in jobs or not jobs[ended].has_ended:
            return None
        is_news = connection.execute(SQL["dep_done"], {"job": waiting, "needed": ended}).rowcount
        job = jobs.get(waiting)
        if not is_news or job is None or job.has_ended or not job.pending_jobs:
            return NO_EFFECTS
        now = self._now()
        if jobs[ended].status is not JobStatus.COMPLETED:
            return self._fail_job(connection, now, job, jobs[ended])
        connection.execute(SQL["job_needs_less"], {"job": waiting})
        if job.pending_jobs > 1:
            return NO_EFFECTS
        rows = connection.execute(SQL["live_in_job"], {"job": waiting}).fetchall()
        return Effects(released=tuple(self._unblock(connection, now, [row[0] for row in rows if not row[-1]])))

    def _fail_job(self, connection: sqlite3.Connection, now: Instant, job: JobRow, needed: JobRow) -> Effects:
        """Fail a job because of another; none of its tasks has run."""
        error = job_error(needed)
        reason = {"job": job.id, "needed": needed.id, "reason": error.message}
        connection.execute(SQL["fail_job"], reason)
        ends = [
            End(task, Act.SKIP, State.SKIPPED, epoch + 1, attempt, error=error)
            for task, _, _, epoch, attempt, *_ in connection.execute(SQL["live_in_job"], {"job": job.id}).fetchall()
        ]
        write_ends(connection, now, ends)
        changed = tally(connection, now, [(job.id, State.SKIPPED, None) for _ in ends], {job.id: job})
        return moved_by(ends) + changed


def _waiting_for(job: str, limit: int, connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(SQL["jobs_waiting_for"], {"needed": job, "limit": limit}).fetchall()
    return [waiting for (waiting,) in rows]
