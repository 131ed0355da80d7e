-- Dead letters, and acts on many tasks at once.

-- Why tasks of a lane failed for good, as a number. `count` is that of its dead letters, so that groups are never counted.
CREATE TABLE cause (
    id INTEGER PRIMARY KEY,
    lane INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL, -- with all that varies folded away
    count INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    UNIQUE (lane, fingerprint)
);
CREATE INDEX cause_by_fingerprint ON cause (fingerprint);

-- The tasks that failed for good and that nobody has retried or discarded. Payload and history are the task's own.
CREATE TABLE dead_letter (
    task_id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    cause INTEGER NOT NULL,
    epoch INTEGER NOT NULL, -- of the attempt that failed
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL, -- as the error said it, cut
    job_id TEXT,
    tags TEXT -- the task's, as a JSON list
) WITHOUT ROWID;
CREATE INDEX dead_letter_by_time ON dead_letter (at, task_id);
CREATE INDEX dead_letter_by_cause ON dead_letter (cause, at, task_id);
CREATE INDEX dead_letter_by_job ON dead_letter (job_id, at, task_id) WHERE job_id IS NOT NULL;

-- What a task was given before somebody changed it; attempts up to this epoch ran with it.
CREATE TABLE payload_edit (
    task_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    at INTEGER NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (task_id, epoch)
) WITHOUT ROWID;

-- An act on many tasks. Its items are carried out in the order of seq: those up to `position` have been.
CREATE TABLE bulk (
    id TEXT PRIMARY KEY,
    tenant TEXT, -- NULL means every tenant's
    act TEXT NOT NULL,
    request TEXT NOT NULL,
    rate REAL,
    state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'aborted')),
    total INTEGER NOT NULL,
    position INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    tokens REAL NOT NULL DEFAULT 1,
    tokens_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER
) WITHOUT ROWID;
CREATE INDEX bulk_running ON bulk (id) WHERE state = 'running';

-- What a bulk act is about: the tasks as they were when it was asked for. `outcome` and `error` are there only for
-- those that the act did not hold for.
CREATE TABLE bulk_item (
    bulk_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    epoch INTEGER, -- of the dead letter; one that is gone or has been replaced is not touched
    outcome TEXT,
    error TEXT,
    PRIMARY KEY (bulk_id, seq)
) WITHOUT ROWID;
CREATE INDEX bulk_item_refused ON bulk_item (bulk_id, seq) WHERE outcome IS NOT NULL;
