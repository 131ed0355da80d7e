"""Job tasks whose parents have ended, on PostgreSQL: one statement each releases, counts and records them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from drumline.core.clock import LATEST, Clock, Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.ports.changed import Changed
from drumline.ports.hint import NO_EFFECTS, Effects, Hint
from drumline.ports.jobs import ChangedJob
from drumline.stores.driver import Database, Lanes, Transaction
from drumline.stores.endings import Ending
from drumline.stores.job_rows import JobRow, Tally, job_row
from drumline.stores.parts.following import JobFollowing, Members, tally_columns
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.cursors import Cursors, LanePosition
from drumline.stores.postgres.dead_letters import drop_dead_letters
from drumline.stores.postgres.endings import bury, record

BELOW_ALL: Final = "00000000-0000-0000-0000-000000000000"


class PostgresFollowing(JobFollowing):
    """`JobFollowing` with its hot half."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes, cursors: Cursors) -> None:
        super().__init__(database, clock, lanes)
        self._cursors = cursors

    async def record(self, transaction: Transaction, endings: Sequence[Ending]) -> None:
        """Write the ends of tasks whose live rows are locked."""
        await record(transaction, endings, now=self._now())

    async def drop_dead_letters(self, transaction: Transaction, tasks: Sequence[TaskId]) -> None:
        """Drop the dead letters of tasks, if they have any."""
        await drop_dead_letters(transaction, tasks)

    async def record_in_jobs(self, transaction: Transaction, endings: Sequence[Ending], members: Members) -> Effects:
        """Write endings, what follows from them, and the dead letters of those that failed."""
        effects = await super().record_in_jobs(transaction, endings, members)
        await bury(transaction, endings)
        return effects

    async def release(self, transaction: Transaction, tasks: Sequence[TaskId]) -> list[Hint]:
        """Queue blocked tasks, sorted by id; their own delays count from now."""
        (waiting,) = await transaction.fetch("unblock", ids=tasks, act=NUMBER_OF[Act.UNBLOCK], now=self._now())
        return await self._hints(*waiting)

    async def count_ends(self, transaction: Transaction, tallies: Sequence[Tally]) -> list[JobRow]:
        """Add to the counts of jobs, end those that have no other tasks, and return them as they are after it."""
        rows = await transaction.fetch("tally", **tally_columns(tallies), now=self._now())
        return [job_row(row) for row in rows]

    async def follow_completed(
        self, transaction: Transaction, starts: Mapping[TaskId, int], members: Members
    ) -> Effects:
        """Do as `follow` for tasks that have completed, by the rules; they are given with the times of their starts."""
        first_ends = {job.id for job in members.jobs.values() if job.started_at is None}
        ended = {
            task: (State.COMPLETED, started_at if members.job_of[task] in first_ends else None)
            for task, started_at in starts.items()
        }
        return await self.follow(transaction, ended, members)

    async def released_by(self, transaction: Transaction, waiting: Sequence[Any], changed: Sequence[Any]) -> Effects:
        """Return what a statement has released and whose status it has changed, and tell of the latter."""
        effects = Effects(released=tuple(await self._hints(*waiting))) if waiting[0] else NO_EFFECTS
        if not changed:
            return effects
        rows = [job_row(row) for row in await transaction.fetch("jobs", ids=sorted(map(str, changed)))]
        return effects + await self.tell_changed(transaction, rows)

    async def note_queued(self, answers: Iterable[Changed | ChangedJob | NotFound | Conflict]) -> None:
        """Let claims begin to search where acts have queued tasks."""
        hints = [hint for answer in answers for hint in _queued_by(answer)]
        for hint, lane in zip(hints, await self._lanes.numbers_in_order([hint.lane for hint in hints]), strict=True):
            self._cursors.queued(lane, LanePosition(hint.due_at, hint.task))

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
            self._cursors.queued(lane, LanePosition(due, BELOW_ALL))
        return [
            Hint(TaskId(str(task)), known[lane], Instant(due))
            for task, lane, due in zip(tasks, lanes, due_at, strict=True)
        ]


def _queued_by(answer: Changed | ChangedJob | NotFound | Conflict) -> Sequence[Hint]:
    """Return what an act has queued."""
    match answer:
        case Changed(hint=Hint() as hint):
            return (hint,)
        case ChangedJob():
            return answer.effects.released
        case _:
            return ()
