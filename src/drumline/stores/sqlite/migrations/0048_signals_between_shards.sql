-- Signals by correlation over several databases (major 1): tasks of other databases are registered where signals are
-- kept, and signals are given to them.

-- The task that a signal by correlation is given to, which may be in another database, and how often it was given;
-- `given_watch` is the version of the registration. In a row of a task: that this giving was refused.
ALTER TABLE signal ADD COLUMN given_to TEXT;
ALTER TABLE signal ADD COLUMN given_no INTEGER;
ALTER TABLE signal ADD COLUMN given_watch INTEGER;
CREATE INDEX signal_given ON signal (seq) WHERE given_to IS NOT NULL AND taken_at IS NULL;

-- The number of the map by which a wait was registered in all databases, and how often that was undone.
ALTER TABLE task_wait ADD COLUMN registered INTEGER;
ALTER TABLE task_wait ADD COLUMN unregistered INTEGER;
CREATE INDEX task_wait_registered ON task_wait (coalesce(registered, -1), task_id) WHERE correlation IS NOT NULL;

-- Tasks of all databases that wait for signals by correlation, in the order in which they came.
CREATE TABLE signal_watch (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL, -- another one with each registration
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL
);
CREATE UNIQUE INDEX signal_watch_of_task ON signal_watch (tenant, name, key, task_id);
