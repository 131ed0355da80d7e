"""Jobs on PostgreSQL: one statement stores the tasks of new ones."""

from collections.abc import Iterable, Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.ids import JobId, made_at
from drumline.core.job import NewJob
from drumline.core.slots import slot_of
from drumline.core.task import Lane
from drumline.ports.jobs import JobAnswer
from drumline.stores.driver import ABOVE_ALL, Line, Transaction
from drumline.stores.job_rows import RUN_IFS
from drumline.stores.parts.jobs import Jobs
from drumline.stores.parts.submit_jobs import Member
from drumline.stores.postgres.acts import SUBMIT
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.lanes import Lanes
from drumline.stores.postgres.submitting import MOVED


class PostgresJobs(Jobs):
    """`ports.jobs.Jobs` on PostgreSQL."""

    _lanes: Lanes

    async def _know_lanes(self, lanes: Iterable[Lane]) -> None:
        await self._lanes.numbers(lanes)  # on the line that the transaction is on

    async def submit_jobs(self, jobs: Sequence[NewJob]) -> list[JobAnswer]:
        """Store jobs durably with their tasks and edges, each whole or not at all."""
        try:
            return await super().submit_jobs(jobs)
        except SlotClosed:
            return await self._submit_unmoved(jobs)

    async def _submit_unmoved(self, jobs: Sequence[NewJob]) -> list[JobAnswer]:
        """Answer for what is stored already; store what is in open slots, and refuse the rest."""
        known = await self.known_jobs(jobs)
        answers: dict[JobId, JobAnswer] = {
            job.id: answer for job, answer in zip(jobs, known, strict=True) if answer is not None
        }
        open_slots = await self._database.fetch(Line.SUBMIT, "open_slots", repeat=True, **fence_of_jobs(jobs))
        routes = {(slot, version) for slot, version in open_slots}
        left = [job for job in jobs if job.id not in answers and (slot_of(job.id), job.slot_version) in routes]
        if left:
            try:
                stored = await super().submit_jobs(left)
            except SlotClosed:  # just now: the caller sends them again
                stored = [MOVED] * len(left)
            answers |= {job.id: answer for job, answer in zip(left, stored, strict=True)}
        return [answers.get(job.id, MOVED) for job in jobs]

    async def _insert_members(
        self, transaction: Transaction, members: Sequence[Member], jobs: Sequence[NewJob]
    ) -> Instant:
        tasks = [each.task for _, each, _ in members]
        ((now,),) = await transaction.fetch(
            "submit_in_jobs",
            ids=[task.id for task in tasks],
            lanes=await self._lanes.numbers_in_order([task.lane for task in tasks]),
            payloads=[task.payload for task in tasks],
            options=[None if task.options is None else task.options.decode() for task in tasks],
            delays=[task.delay_ms for task in tasks],
            run_at=[task.run_at for task in tasks],
            states=[int(member.state) for member in members],
            jobs=[member.job for member in members],
            keys=[each.key for _, each, _ in members],
            pending=[len(each.needs) for _, each, _ in members],
            run_ifs=[RUN_IFS.index(each.run_if) for _, each, _ in members],
            act=SUBMIT,
            **fence_of_jobs(jobs),
            now=self._now(),
        )
        return Instant(now)


def fence_of_jobs(jobs: Iterable[NewJob]) -> dict[str, Any]:
    """Return what the fence is asked: each slot with the version it was routed by, and the time of its oldest id."""
    oldest: dict[tuple[int, int], str] = {}
    for job in jobs:
        route = (slot_of(job.id), job.slot_version)
        oldest[route] = min(oldest.get(route, ABOVE_ALL), job.id, *(each.task.id for each in job.tasks))
    return {
        "slots": [slot for slot, _ in oldest],
        "versions": [version for _, version in oldest],
        "oldest": [made_at(first) for first in oldest.values()],
    }
