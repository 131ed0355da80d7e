"""Notes each change of leases and sessions as the simulated database commits it, for checks of the steps in between.

What the store says in the end does not show a step that a later one has covered up. The watch is a set of triggers on
the connection of the simulated server, in its temporary schema: the product sees none of it, and what is rolled back
leaves no trace here either.
"""

from sqlite3 import Connection
from typing import Final, NamedTuple

from drumline.testing.loop import SimulatedLoop

_TRIGGERS: Final = """
CREATE TEMP TABLE watched (at REAL, what TEXT, task TEXT, session INTEGER, before INTEGER, after INTEGER);
CREATE TEMP TRIGGER watch_claim AFTER UPDATE OF state ON main.task_live WHEN NEW.state = 2
BEGIN
    INSERT INTO watched VALUES (simulated_now(), 'claim', NEW.id, NEW.session, OLD.epoch, NEW.epoch);
    INSERT INTO watched
    SELECT simulated_now(), 'claim of a closed session', NEW.id, NEW.session, OLD.epoch, NEW.epoch
    FROM main.session WHERE id = NEW.session AND closed_at IS NOT NULL;
    INSERT INTO watched
    SELECT simulated_now(), 'claim of what is not queued', NEW.id, NEW.session, OLD.epoch, NEW.epoch
    WHERE OLD.state != 1;
    INSERT INTO watched
    SELECT simulated_now(), 'claim of what is not due', NEW.id, NEW.session, OLD.epoch, NEW.epoch
    WHERE OLD.due_at > NEW.started_at;
END;
CREATE TEMP TRIGGER watch_requeue AFTER UPDATE OF state ON main.task_live WHEN OLD.state = 2 AND NEW.state = 1
BEGIN
    INSERT INTO watched VALUES (simulated_now(), 'requeue', NEW.id, OLD.session, OLD.epoch, NEW.epoch);
END;
CREATE TEMP TRIGGER watch_open AFTER INSERT ON main.session
BEGIN
    INSERT INTO watched VALUES (simulated_now(), 'open', NULL, NEW.id, NULL, NULL);
END;
CREATE TEMP TRIGGER watch_beat AFTER UPDATE OF beat ON main.session
BEGIN
    INSERT INTO watched VALUES (simulated_now(), 'beat', NULL, NEW.id, OLD.beat, NEW.beat);
END;
CREATE TEMP TRIGGER watch_close AFTER UPDATE OF closed_at ON main.session
WHEN OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL
BEGIN
    INSERT INTO watched
    VALUES (simulated_now(), iif(NEW.is_dead, 'dead', 'close'), NULL, NEW.id, OLD.beat, NEW.beat);
END;
CREATE TEMP TRIGGER watch_wait AFTER INSERT ON main.task_wait WHEN NEW.pending IS NOT NULL
BEGIN
    INSERT INTO watched
    SELECT simulated_now(), 'count of children', NEW.task_id, 0, NEW.pending, open.count
    FROM (
        SELECT count(*) AS count FROM main.task_link AS l
        WHERE l.parent_id = NEW.task_id AND l.name = NEW.name AND l.key = NEW.key AND l.state IS NULL
    ) AS open
    WHERE open.count != NEW.pending;
END;
-- Of a parent that was retried a row may be left from before: it is due, and counts anew when it waits again.
CREATE TEMP TRIGGER watch_count AFTER UPDATE OF pending ON main.task_wait WHEN NEW.pending IS NOT NULL
BEGIN
    INSERT INTO watched
    SELECT simulated_now(), 'count of children', NEW.task_id, 0, NEW.pending, open.count
    FROM (
        SELECT count(*) AS count FROM main.task_link AS l
        WHERE l.parent_id = NEW.task_id AND l.name = NEW.name AND l.key = NEW.key AND l.state IS NULL
    ) AS open
    WHERE
        open.count != NEW.pending
        AND (
            NEW.epoch != OLD.epoch
            OR EXISTS (
                SELECT 1 FROM main.task_live AS live
                WHERE live.id = NEW.task_id AND live.state = 1 AND live.due_at > 1767225600000 + simulated_now() * 1000
            )
        );
END;
CREATE TEMP TRIGGER watch_link AFTER INSERT ON main.task_link
BEGIN
    INSERT INTO watched
    SELECT simulated_now(), 'child of nobody', NEW.child_id, 0, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM main.task_live AS live WHERE live.id = NEW.parent_id AND live.state = 2);
END;
CREATE TEMP TRIGGER watch_outcome AFTER UPDATE OF state ON main.task_link
WHEN OLD.state IS NOT NULL AND NEW.state IS NOT NULL
BEGIN
    INSERT INTO watched VALUES (simulated_now(), 'second outcome', NEW.child_id, 0, OLD.state, NEW.state);
END;
CREATE TEMP TRIGGER watch_parent_end AFTER DELETE ON main.task_live WHEN OLD.family >= 2
BEGIN
    INSERT INTO watched VALUES (simulated_now(), 'end of a parent', OLD.id, 0, NULL, NULL);
END;
CREATE TEMP TRIGGER watch_parent_return AFTER INSERT ON main.task_live WHEN NEW.family >= 2
BEGIN
    INSERT INTO watched VALUES (simulated_now(), 'return of a parent', NEW.id, 0, NULL, NULL);
END;
"""


class Change(NamedTuple):
    """A change that was committed: `claim`, `requeue` of a task; `open`, `beat`, `close`, `dead` of a session.

    Also the end and the return of a parent, and what must never be: those of `family_checks.WRONG`.
    """

    at: float
    what: str
    task: str | None
    session: int
    before: int | None
    """The epoch of the task, or the number of the beat, before …"""
    after: int | None
    """… and after it."""


_loops: list[SimulatedLoop] = []
"""The loop whose time is noted, last."""


def watch(connection: Connection, loop: SimulatedLoop) -> None:
    """Note changes from now on, with the time of a loop."""
    _loops.append(loop)
    if not connection.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = 'watched'").fetchone():
        begin(connection)


def begin(connection: Connection) -> None:
    """Add what notes changes to a connection."""
    connection.create_function("simulated_now", 0, _now)
    connection.executescript(_TRIGGERS)


def _now() -> float:
    return _loops[-1].time()


def changes(connection: Connection) -> list[Change]:
    """Return what was noted, in its order."""
    rows = connection.execute("SELECT round(at, 6), what, task, session, before, after FROM watched ORDER BY rowid")
    return [Change(*row) for row in rows]
