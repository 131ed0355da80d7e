"""Keeping the store itself in order: pruning, health."""

from drumline.backends.events import UNREAD_LOOKED_AT, prunable_before
from drumline.backends.postgres.access import Access
from drumline.backends.postgres.database import Line, Transaction
from drumline.backends.postgres.dead_letters import drop_dead_letters
from drumline.backends.postgres.migrating import migrate
from drumline.core.clock import Instant
from drumline.core.ids import TaskId


class Housekeeping(Access):
    """`ports.store.Housekeeping` on PostgreSQL."""

    async def migrate(self) -> None:
        """Bring the schema to this version; safe to run anywhere, any number of times."""
        await migrate(self._database)

    async def prune(self, *, ended_before: Instant, limit: int) -> int:
        """Delete up to `limit` tasks that ended before a time, with all that belongs to them; return how many."""

        async def delete(transaction: Transaction) -> int:
            ((unread_since, unread),) = await transaction.fetch("unread_since", limit=UNREAD_LOOKED_AT)
            before = prunable_before(ended_before, unread_since, unread)
            tasks = await _tasks_of_ended_jobs(transaction, before, limit)
            left = max(limit - len(tasks), 0)
            rows = await transaction.fetch("lock_ended", below=_id_at(before), before=before, limit=left)
            tasks += [task for (task,) in rows]
            ((count,),) = await transaction.fetch("prune", ids=tasks)
            await drop_dead_letters(transaction, tasks)
            await transaction.fetch("prune_sessions", before=ended_before)
            return int(count)

        return await self._database.transact(Line.BROAD, delete)

    async def check(self) -> dict[str, object]:
        """Return details for the health page, or raise `Unavailable`."""
        ((version, number),) = await self._database.fetch(Line.DESK, "check", repeat=True)
        pooled = not await self._database.is_direct()
        return {"database": "PostgreSQL", "version": version, "schema": number, "pooled": pooled}

    async def close(self) -> None:
        """Finish what is under way and let go of every connection."""
        await self._database.close()


async def _tasks_of_ended_jobs(transaction: Transaction, before: Instant, limit: int) -> list[TaskId]:
    """Delete jobs that ended before a time but for their tasks, and return those: about `limit`, or of one job."""
    jobs: list[object] = []
    for job, total in await transaction.fetch("lock_ended_jobs", before=before, limit=limit):
        limit -= total
        if jobs and limit < 0:
            break
        jobs.append(job)
    return [task for (task,) in await transaction.fetch("prune_jobs", ids=jobs)] if jobs else []


def _id_at(instant: Instant) -> TaskId:
    """Return the first id that is above all those made by the given millisecond."""
    text = f"{max(instant, 0) + 1:012x}"
    return TaskId(f"{text[:8]}-{text[8:]}-7000-8000-000000000000")
