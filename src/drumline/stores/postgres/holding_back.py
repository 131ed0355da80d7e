"""Letting tasks wait for others again that run again. Their jobs are locked."""

from collections.abc import Mapping, Sequence

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import Act
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.database import Transaction


async def hold_back(transaction: Transaction, tasks: Sequence[TaskId], *, now: Instant | None) -> dict[TaskId, int]:
    """Let tasks wait for others again that waited to be claimed, and return those with their epochs."""
    if not tasks:
        return {}
    rows = await transaction.fetch("hold_back", ids=sorted(tasks), act=NUMBER_OF[Act.RESUME], now=now)
    return dict(sorted((TaskId(task), epoch) for task, epoch in rows))


async def hold_back_early(
    transaction: Transaction, tasks: Sequence[TaskId], *, now: Instant | None
) -> dict[TaskId, int]:
    """Hold back those of some tasks, queued again in this transaction, that need others which run again.

    Those were resumed while an attempt of these was under way; the next one begins after their end.
    """
    if not tasks:
        return {}
    rows = await transaction.fetch("unended_parents", ids=sorted(tasks))
    counted = {TaskId(task): (pending, bad) for task, pending, bad in rows}
    await count_parents(transaction, counted)
    return await hold_back(transaction, list(counted), now=now)


async def count_parents(transaction: Transaction, counted: Mapping[TaskId, tuple[int, int]]) -> None:
    """Write what blocked tasks still wait for."""
    if counted:
        ids = sorted(counted)
        await transaction.fetch(
            "count_parents", ids=ids, pending=[counted[task][0] for task in ids], bad=[counted[task][1] for task in ids]
        )
