-- Forks of durable tasks, and what an answer to a wait has to look like (major 1).

-- New tasks that were given the records of another, by the sender's id: the same request sent twice makes one.
CREATE TABLE task_fork (
    task_id TEXT NOT NULL, -- the task whose records were copied
    id TEXT NOT NULL,
    fork_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    records INTEGER NOT NULL, -- how many were copied
    fingerprint BLOB NOT NULL, -- of what was asked for
    PRIMARY KEY (task_id, id)
) WITHOUT ROWID;

-- The JSON schema of the payload that a wait for a signal expects; people get a form for it.
ALTER TABLE task_wait ADD COLUMN schema TEXT;
