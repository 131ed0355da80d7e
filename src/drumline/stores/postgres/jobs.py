"""Jobs on PostgreSQL: one statement stores the tasks of new ones."""

from collections.abc import Iterable, Sequence

from drumline.core.clock import Instant
from drumline.core.task import Lane
from drumline.stores.driver import Transaction
from drumline.stores.job_rows import RUN_IFS
from drumline.stores.parts.jobs import Jobs
from drumline.stores.parts.submit_jobs import Member
from drumline.stores.postgres.acts import SUBMIT
from drumline.stores.postgres.lanes import Lanes


class PostgresJobs(Jobs):
    """`ports.jobs.Jobs` on PostgreSQL."""

    _lanes: Lanes

    async def _know_lanes(self, lanes: Iterable[Lane]) -> None:
        await self._lanes.numbers(lanes)  # on the line that the transaction is on

    async def _insert_members(self, transaction: Transaction, members: Sequence[Member]) -> Instant:
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
            now=self._now(),
        )
        return Instant(now)
