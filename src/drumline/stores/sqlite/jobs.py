"""Jobs on SQLite: how the tasks of new ones are stored."""

from collections.abc import Iterable, Sequence

from drumline.core.clock import Clock, Instant
from drumline.core.job import NewJob
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.stores.driver import Transaction
from drumline.stores.job_rows import RUN_IFS
from drumline.stores.parts.jobs import Jobs
from drumline.stores.parts.submit_jobs import Member
from drumline.stores.sqlite.batches import batch_of, tell
from drumline.stores.sqlite.database import connection_of
from drumline.stores.sqlite.lanes import Lanes
from drumline.stores.sqlite.statements import SQL
from drumline.stores.sqlite.submitting import SUBMITTED


class SqliteJobs(Jobs):
    """`ports.jobs.Jobs` on SQLite."""

    _clock: Clock
    _lanes: Lanes

    async def _know_lanes(self, lanes: Iterable[Lane]) -> None:
        """Do nothing: lanes get their numbers in the transaction."""

    async def _insert_members(
        self, transaction: Transaction, members: Sequence[Member], _jobs: Sequence[NewJob]
    ) -> Instant:
        connection, now = connection_of(transaction), self._clock.now()
        wide: list[tuple[object, ...]] = []
        live: list[tuple[object, ...]] = []
        joined: list[tuple[object, ...]] = []
        for job, each, state in members:
            task = each.task
            due_at = task.run_at if task.run_at is not None else Instant(now + task.delay_ms)
            lane = self._lanes.number(connection, task.lane)
            options = None if task.options is None else task.options.decode()
            wide.append((task.id, lane, task.payload.decode(), options, None, due_at))
            live.append((task.id, lane, None if state is State.BLOCKED else due_at, state, 0, 0))
            run_if = RUN_IFS.index(each.run_if)
            joined.append((task.id, job, each.key, run_if, len(each.needs), task.delay_ms, task.run_at))
        connection.execute(SQL["insert_tasks"], {"batch": batch_of(wide), "now": now})
        connection.execute(SQL["insert_job_live"], {"batch": batch_of(live)})
        connection.execute(SQL["insert_job_tasks"], {"batch": batch_of(joined)})
        tell(connection, now, [(each.task.id, SUBMITTED, int(state), 0) for _, each, state in members])
        return now
