"""Finds out whether a world has nothing to do, and when it will have: from its database and its own timers."""

from typing import Final, NamedTuple

from drumline.core.clock import NEVER, Instant
from drumline.core.state import State
from drumline.testing.clock import EPOCH
from drumline.testing.database import DatabaseServer

_LOOK: Final = f"""
SELECT
    EXISTS (SELECT 1 FROM task_live WHERE state = {State.RUNNING:d})
        OR EXISTS (SELECT 1 FROM bulk WHERE state = 'running'),
    (SELECT min(due_at) FROM task_live WHERE state = {State.QUEUED:d} AND due_at > :now AND due_at < {NEVER:d}),
    (SELECT min(due_at) FROM schedule_live WHERE due_at IS NOT NULL),
    (SELECT min(expires_at) FROM task_expiry WHERE expires_at > :now),
    EXISTS (SELECT 1 FROM task_live WHERE state = {State.QUEUED:d} AND due_at <= :now)
        OR EXISTS (SELECT 1 FROM schedule_live WHERE waiting > 0),
    EXISTS (SELECT 1 FROM flow_limit),
    (SELECT max(seq) FROM outbox)
"""  # noqa: S608 - numbers of our own


_UNTAKEN: Final = f"""
SELECT DISTINCT lane.name FROM task_live AS live JOIN lane ON lane.id = live.lane
WHERE live.state = {State.QUEUED:d} AND live.due_at <= :now ORDER BY lane.name LIMIT 5
"""  # noqa: S608 - likewise


class Look(NamedTuple):
    """What a database has to do."""

    is_busy: bool
    """Whether something is being carried out."""
    next_task: Instant | None
    """When the next task is due, after now; one that waits for a signal without an end never is."""
    next_schedule: Instant | None
    """When the next schedule is due; it may be past."""
    next_expiry: Instant | None
    """When the next task expires, after now."""
    is_due: bool
    """Whether a task, or a run of a schedule, waits that is due."""
    is_limited: bool
    """Whether there are limits, which let tasks start when time has passed."""
    last_event: int
    """The number of the last event: it moves with everything that happens to tasks."""


def look(database: DatabaseServer, now: Instant) -> Look:
    """Look at what a database has to do."""
    busy, task, schedule, expiry, due, limited, event = database.connection.execute(_LOOK, {"now": now}).fetchone()
    return Look(bool(busy), task, schedule, expiry, bool(due), bool(limited), event or 0)


def untaken(database: DatabaseServer, now: Instant) -> list[str]:
    """Return the names of tasks that are due and that no worker takes, a few of them."""
    return [name for (name,) in database.connection.execute(_UNTAKEN, {"now": now})]


def loop_time(instant: Instant) -> float:
    """Return the time of a world's loop at an instant."""
    return instant / 1000 - EPOCH


def missed_firings(database: DatabaseServer) -> int:
    """Return how many firings of schedules were missed so far."""
    (count,) = database.connection.execute("SELECT coalesce(sum(missed), 0) FROM schedule_live").fetchone()
    return int(count)
