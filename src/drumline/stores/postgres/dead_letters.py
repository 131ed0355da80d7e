"""Writing dead letters with the end of their tasks, and dropping them."""

from collections.abc import Sequence
from typing import NamedTuple

from drumline.core.dead_letter import FailureCause
from drumline.core.ids import TaskId
from drumline.stores.driver import Transaction, storable


class Death(NamedTuple):
    """A task that fails for good: the attempt that failed it, and why."""

    task: TaskId
    epoch: int
    cause: FailureCause


async def write_dead_letters(transaction: Transaction, deaths: Sequence[Death]) -> None:
    """Write the dead letters of tasks whose last attempts this transaction has recorded as failed.

    It locks rows that many others want, so it comes last in a transaction.
    """
    if not deaths:
        return
    # A task that came back to life by a way that forgot its dead letter must not be unable to die again.
    await drop_dead_letters(transaction, [death.task for death in deaths])
    await transaction.fetch(
        "write_dead_letters",
        ids=[death.task for death in deaths],
        epochs=[death.epoch for death in deaths],
        reasons=[death.cause.reason for death in deaths],
        fingerprints=[death.cause.fingerprint for death in deaths],
        kinds=[storable(death.cause.kind) for death in deaths],
        messages=[storable(death.cause.message) for death in deaths],
        said=[storable(death.cause.said) for death in deaths],
    )


async def drop_dead_letters(transaction: Transaction, tasks: Sequence[TaskId]) -> None:
    """Drop the dead letters of tasks, if they have any: they are retried, discarded or pruned."""
    if tasks:
        await transaction.fetch("drop_dead_letters", ids=list(tasks))
