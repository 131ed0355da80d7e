"""What follows a commit: hints to the queue, notes for the read model, wake-ups for waiting callers, other jobs.

Nothing here may fail the caller, whose change is committed. What is lost here is found by the scheduler's duties.
"""

import asyncio
from collections.abc import Sequence

import structlog

from drumline.core.errors import Fenced, Unavailable
from drumline.core.job import ENDED, JobStatus, NewJob
from drumline.core.task import NewTask, SubmitAnswer
from drumline.core.task_log import TASK_LOG
from drumline.engine.endings import Endings
from drumline.engine.offer import Offers
from drumline.engine.read_model_notes import ReadModelNotes
from drumline.engine.task_lines import is_new, log_submitted
from drumline.ports.hint import NO_EFFECTS, Effects, Hint
from drumline.ports.jobs import Jobs
from drumline.ports.store import Settled, Settlement

JOBS_AT_ONCE = 100
"""Jobs that are told of the ends of others in one transaction."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class EffectFollower:
    """Follows what changes of tasks and jobs led to."""

    def __init__(self, jobs: Jobs, offers: Offers, endings: Endings, notes: ReadModelNotes) -> None:
        self._jobs = jobs
        self.offers = offers
        self.endings = endings
        self.notes = notes
        self._rippling: asyncio.Task[None] | None = None
        self._has_more = False

    def follow(self, effects: Effects) -> None:
        """Offer released tasks, note changes, wake callers that wait for ends. Returns at once."""
        self.offers.offer(effects.released)
        self.notes.followed(effects)
        self.endings.ended([task for task, _ in effects.moved])
        self.endings.ended([job for job, _ in effects.jobs])
        if any(status in ENDED for _, status in effects.jobs):
            self._has_more = True
            if self._rippling is None:
                self._rippling = asyncio.get_running_loop().create_task(self._ripple_all(), name="ripple")

    def submitted(self, tasks: Sequence[NewTask], answers: Sequence[SubmitAnswer]) -> None:
        """Log and note tasks that were stored."""
        self.notes.submitted(tasks, answers)
        if TASK_LOG.is_on:
            log_submitted([task for task, answer in zip(tasks, answers, strict=True) if is_new(answer)])

    def job_submitted(self, job: NewJob, status: JobStatus, effects: Effects = NO_EFFECTS) -> None:
        """Log and note a job that was stored, and follow what that led to."""
        if TASK_LOG.is_on:
            log_submitted([each.task for each in job.tasks])
        self.notes.job_submitted(job, status)
        self.follow(effects)

    def settled(self, settlements: Sequence[Settlement], answers: Sequence[Settled | Fenced]) -> None:
        """Note ends of attempts, offer what is queued again, follow what happened in jobs. Returns at once."""
        self.notes.settled(settlements, answers)
        hints: list[Hint] = []
        for answer in answers:
            if isinstance(answer, Settled):
                if answer.hint is not None:
                    hints.append(answer.hint)
                if answer.effects is not NO_EFFECTS:
                    self.follow(answer.effects)
        self.offers.offer(hints)
        self.endings.ended(settlement.lease.task for settlement in settlements)

    async def ripple(self) -> int:
        """Tell jobs that others which they depend on have ended, until all are told, and return how many were."""
        told = 0
        while True:
            rippled = await self._jobs.ripple(limit=JOBS_AT_ONCE)
            told += rippled.told
            self.follow(rippled.effects)
            if rippled.is_done and not rippled.told:
                return told

    async def drained(self) -> None:
        """Wait until dependent jobs have been told of the ends seen here."""
        while self._rippling is not None:
            await asyncio.wait({self._rippling})

    async def _ripple_all(self) -> None:
        try:
            while self._has_more:
                self._has_more = False
                await self.ripple()
        except Unavailable as error:
            log.info("ripple.postponed", error=error.message)  # the duty does it
        finally:
            self._rippling = None
