-- Rounds of durable tasks (major 1): what a task was given and has done before it began anew. The present round is where
-- it always was, in task, step_record and task_link; so a version that does not know of rounds sees that one only.

-- A round that is over.
CREATE TABLE task_round (
    task_id TEXT NOT NULL,
    round INTEGER NOT NULL, -- from 1
    ended_at INTEGER NOT NULL,
    epoch INTEGER NOT NULL, -- of its last attempt
    records INTEGER NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (task_id, round)
) WITHOUT ROWID;

-- The records of rounds that are over: those of step_record.
CREATE TABLE round_record (
    task_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    due_at INTEGER,
    epoch INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (task_id, round, seq)
);

-- The children of rounds that are over: those of task_link. How each ended is not waited for any more.
CREATE TABLE round_link (
    task_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    place INTEGER NOT NULL,
    child_id TEXT NOT NULL,
    on_end INTEGER NOT NULL,
    PRIMARY KEY (task_id, round, name, key, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX round_link_of_child ON round_link (child_id);
