"""Keeping the store itself in order: pruning, health."""

from typing import Final

from drumline.core.clock import Instant
from drumline.core.ids import TaskId, id_above
from drumline.stores.driver import Line
from drumline.stores.events import UNREAD_LOOKED_AT, PruneProgress, prunable_before
from drumline.stores.postgres.database import Transaction
from drumline.stores.postgres.dead_letters import drop_dead_letters
from drumline.stores.postgres.migrating import migrate, missing_migrations
from drumline.stores.postgres.part import PostgresPart
from drumline.stores.sql_files import Migration

BELOW_ALL: Final = TaskId("00000000-0000-0000-0000-000000000000")


class Housekeeping(PostgresPart):
    """`ports.store.Housekeeping` on PostgreSQL."""

    _trail: PruneProgress | None = None

    async def migrate(self) -> None:
        """Bring the schema to this version; safe to run anywhere, any number of times."""
        await migrate(self._database)

    async def missing_migrations(self) -> list[Migration]:
        """Return the migrations that `migrate` would apply."""
        return await missing_migrations(self._database)

    async def prune(self, *, ended_before: Instant, limit: int) -> int:
        """Delete up to `limit` tasks that ended before a time, with all that belongs to them; return how many."""
        trail, self._trail = self._trail, None
        if trail is None or trail.ended_before != ended_before:
            trail = await self._new_trail(ended_before)

        async def delete(transaction: Transaction) -> tuple[int, str | None]:
            tasks = await _tasks_of_ended_jobs(transaction, trail.before, limit)
            left = max(limit - len(tasks), 0)
            rows = await transaction.fetch(
                "lock_ended", above=trail.above, below=id_above(trail.before), before=trail.before, limit=left
            )
            alone = [task for (task,) in rows]
            ((count, unhappy),) = await transaction.fetch("prune", ids=tasks + alone)
            if unhappy:
                # By the index that suits their number now: a plan that is kept may have been made when there were none.
                await transaction.run("SET LOCAL plan_cache_mode = force_custom_plan")
                await drop_dead_letters(transaction, unhappy)
            is_over = len(tasks) + len(alone) < limit
            return int(count), None if is_over else str(alone[-1]) if alone else trail.above

        count, last = await self._database.transact(Line.PRUNE, delete)
        if last is not None:
            self._trail = trail._replace(above=last)
        else:
            await self._database.fetch(Line.BROAD, "prune_sessions", repeat=True, before=ended_before)
            await self._database.fetch(Line.BROAD, "prune_signals", repeat=True, before=ended_before)
        return count

    async def _new_trail(self, ended_before: Instant) -> PruneProgress:
        """Begin with the oldest task, and look how far the readers of the log have come."""
        ((unread_since, unread),) = await self._database.fetch(
            Line.PRUNE, "unread_since", repeat=True, limit=UNREAD_LOOKED_AT
        )
        return PruneProgress(ended_before, prunable_before(ended_before, unread_since, unread), BELOW_ALL)

    async def tidy(self, *, dead: int) -> bool:
        """Make room usable again that more than so many dead rows take up; tell whether there was any."""
        if not await self._database.is_direct():
            return False  # a pooler hands out transactions, and a vacuum is none: autovacuum comes by, if not so soon
        ((count,),) = await self._database.fetch(Line.BROAD, "dead_rows", repeat=True)
        if count <= dead:
            return False
        await self._database.fetch(Line.BROAD, "vacuum_task_live", repeat=True)
        return True

    async def check(self) -> dict[str, object]:
        """Return details for the health page, or raise `Unavailable`."""
        ((version, number),) = await self._database.fetch(Line.REQUEST, "check", repeat=True)
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
