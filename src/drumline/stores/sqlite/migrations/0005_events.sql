-- Events: the outbox as a log that several consumers read, each at its own pace. There is one writer at a time, so rows
-- are committed in the order of seq: it is the position in the log.

-- A row is either acts on tasks (`events`), or facts: a JSON list of [type, subject, tenant, data].
ALTER TABLE outbox ADD COLUMN facts TEXT;

-- One row: the name tells the events of this database from those of any other.
CREATE TABLE event_log (
    is_only INTEGER PRIMARY KEY DEFAULT 1 CHECK (is_only = 1),
    name TEXT NOT NULL
);
INSERT INTO event_log (name) VALUES (lower(hex(randomblob(4))));

-- How far each consumer has passed events on. Nothing above the lowest of them is dropped.
-- The holder is a random number of the process that passes them on, so that two do not do the same work.
CREATE TABLE event_cursor (
    consumer TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    moved_at INTEGER NOT NULL,
    holder INTEGER NOT NULL DEFAULT 0,
    held_until INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
