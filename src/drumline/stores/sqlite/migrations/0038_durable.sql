-- Durable tasks (major 1): what they have done, by name, and what they wait for.

-- How many records a task has, and how many bytes of them: what a claim has to fetch, and what may still be added.
ALTER TABLE task_live ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_live ADD COLUMN record_bytes INTEGER NOT NULL DEFAULT 0;

-- What a task has done. Numbers of kinds and statuses are those of core/durable.py.
CREATE TABLE step_record (
    task_id TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL, -- empty without one
    seq INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    due_at INTEGER, -- when a step that failed is tried again
    epoch INTEGER NOT NULL,
    value BLOB NOT NULL, -- JSON: a result, or an error
    PRIMARY KEY (task_id, name, key)
);
CREATE INDEX step_record_in_order ON step_record (task_id, seq);

-- What a task waits for. It is due at the earliest deadline of what its last attempt waited for. A row stays until its
-- wait is answered, so that a deadline counts from the first attempt that waited.
CREATE TABLE task_wait (
    task_id TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    kind INTEGER NOT NULL,
    since INTEGER NOT NULL,
    epoch INTEGER NOT NULL, -- of the last attempt that waited for it
    deadline INTEGER, -- NULL if it waits for something other than a time
    reason TEXT NOT NULL,
    PRIMARY KEY (task_id, name, key)
) WITHOUT ROWID;
