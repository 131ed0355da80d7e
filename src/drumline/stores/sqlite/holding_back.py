"""Letting tasks wait for others again that run again."""

import sqlite3
from collections.abc import Mapping, Sequence

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.stores.sqlite.access import batch_of, event, tell
from drumline.stores.sqlite.statements import SQL


def hold_back(connection: sqlite3.Connection, now: Instant, tasks: Sequence[TaskId]) -> dict[TaskId, int]:
    """Let tasks wait for others again that waited to be claimed, and return those with their epochs."""
    if not tasks:
        return {}
    rows = connection.execute(SQL["hold_back"], {"ids": batch_of(tasks)}).fetchall()
    tell(connection, now, [event(task, Act.RESUME, State.BLOCKED, epoch) for task, epoch in rows])
    return {TaskId(task): epoch for task, epoch in sorted(rows)}


def hold_back_early(connection: sqlite3.Connection, now: Instant, tasks: Sequence[TaskId]) -> dict[TaskId, int]:
    """Hold back those of some tasks, queued again in this transaction, that need others which run again.

    Those were resumed while an attempt of these was under way; the next one begins after their end.
    """
    if not tasks:
        return {}
    rows = connection.execute(SQL["unended_parents"], {"ids": batch_of(tasks)}).fetchall()
    counted = {TaskId(task): (pending, bad) for task, pending, bad in rows}
    count_parents(connection, counted)
    return hold_back(connection, now, list(counted))


def count_parents(connection: sqlite3.Connection, counted: Mapping[TaskId, tuple[int, int]]) -> None:
    """Write what blocked tasks still wait for."""
    if counted:
        rows = [(task, *counts) for task, counts in counted.items()]
        connection.execute(SQL["count_parents"], {"batch": batch_of(rows)})
