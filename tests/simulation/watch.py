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
"""


class Change(NamedTuple):
    """A change that was committed: `claim`, `requeue` of a task; `open`, `beat`, `close`, `dead` of a session."""

    at: float
    what: str
    task: str | None
    session: int
    before: int | None
    """The epoch of the task, or the number of the beat, before …"""
    after: int | None
    """… and after it."""


def watch(connection: Connection, loop: SimulatedLoop) -> None:
    """Note changes from now on."""
    connection.create_function("simulated_now", 0, lambda: round(loop.time(), 6))
    connection.executescript(_TRIGGERS)


def changes(connection: Connection) -> list[Change]:
    """Return what was noted, in its order."""
    return [Change(*row) for row in connection.execute("SELECT * FROM watched ORDER BY rowid")]
