-- Signals to durable tasks (major 1): to one task, or by correlation to whichever task of the tenant takes it first.

CREATE TABLE signal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of arrival
    task_id TEXT, -- NULL for a signal by correlation
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL, -- of the correlation; empty for a signal to one task
    id TEXT NOT NULL, -- the sender's: the same signal sent twice is kept once, also after it was taken
    payload BLOB NOT NULL,
    at INTEGER NOT NULL,
    taken_at INTEGER,
    taken_by TEXT
);
CREATE UNIQUE INDEX signal_of_task ON signal (task_id, id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX signal_by_key ON signal (tenant, name, key, id) WHERE task_id IS NULL;
CREATE INDEX signal_by_age ON signal (at) WHERE task_id IS NULL;

-- What a wait for a signal is correlated by, besides signals to the task itself.
ALTER TABLE task_wait ADD COLUMN tenant TEXT;
ALTER TABLE task_wait ADD COLUMN correlation TEXT;
CREATE INDEX task_wait_by_correlation ON task_wait (tenant, name, correlation) WHERE correlation IS NOT NULL;
