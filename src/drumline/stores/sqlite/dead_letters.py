"""Writing dead letters with the end of their tasks, and dropping them."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from drumline.core.clock import Instant
from drumline.core.dead_letter import FailureCause
from drumline.core.ids import TaskId
from drumline.stores.sqlite.batches import batch_of
from drumline.stores.sqlite.statements import SQL


class Death(NamedTuple):
    """A task that fails for good."""

    task: TaskId
    epoch: int
    attempts: int
    lane: int
    cause: FailureCause


def write_dead_letters(connection: sqlite3.Connection, now: Instant, deaths: Sequence[Death]) -> None:
    """Write the dead letters of tasks that this transaction fails."""
    if not deaths:
        return
    # A task that came back to life by a way that forgot its dead letter must not be unable to die again.
    drop_dead_letters(connection, [death.task for death in deaths])
    counts = Counter((death.lane, death.cause.fingerprint) for death in deaths)
    causes = {(death.lane, death.cause.fingerprint): death.cause for death in deaths}
    counted = [(*key, cause.kind, cause.message, counts[key]) for key, cause in causes.items()]
    connection.execute(SQL["count_causes"], {"batch": batch_of(counted), "now": now})
    letters = [
        (death.task, death.epoch, death.attempts, cause.reason, death.lane, cause.fingerprint, cause.said)
        for death in deaths
        for cause in (death.cause,)
    ]
    connection.execute(SQL["insert_dead_letters"], {"batch": batch_of(letters), "now": now})


def drop_dead_letters(connection: sqlite3.Connection, tasks: Sequence[TaskId]) -> None:
    """Drop the dead letters of tasks, if they have any: they are retried, discarded or pruned."""
    if tasks:
        ids = {"ids": batch_of(tasks)}
        connection.execute(SQL["uncount_causes"], ids)
        connection.execute(SQL["keep_reasons"], ids)
        connection.execute(SQL["delete_dead_letters"], ids)
