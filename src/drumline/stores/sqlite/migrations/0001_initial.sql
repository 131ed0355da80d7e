-- The first schema. All times are whole milliseconds since 1970 (UTC).
-- Numbers of states and outcomes are those of core/state.py and core/attempt.py.

-- Tasks that are alike to a dispatcher, as a small number.
CREATE TABLE lane (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    priority INTEGER NOT NULL,
    UNIQUE (tenant, queue, name, priority)
);

-- What was asked for: wide, written once.
CREATE TABLE task (
    id TEXT PRIMARY KEY,
    lane INTEGER NOT NULL,
    payload TEXT NOT NULL,
    options TEXT,
    idempotency_key TEXT,
    due_at INTEGER NOT NULL, -- as asked for; task_live has when it is due next
    created_at INTEGER NOT NULL
);

-- Where it stands: narrow, and only while the task has not ended.
CREATE TABLE task_live (
    id TEXT PRIMARY KEY,
    lane INTEGER NOT NULL,
    due_at INTEGER,
    state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
    epoch INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    nonce INTEGER,
    session INTEGER,
    started_at INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX task_live_ready ON task_live (lane, due_at) WHERE state = 1;
CREATE INDEX task_live_held ON task_live (session) WHERE state = 2;

-- What happened: one row per execution, and one for an end without execution. Written once.
CREATE TABLE attempt (
    task_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    nonce INTEGER,
    session INTEGER,
    started_at INTEGER,
    finished_at INTEGER NOT NULL,
    result TEXT,
    error TEXT,
    PRIMARY KEY (task_id, epoch)
) WITHOUT ROWID;
CREATE INDEX attempt_outcome ON attempt (outcome, task_id);

CREATE TABLE idempotency (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    task_id TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_task ON idempotency (task_id);

-- The registry of workers. `held` is the JSON list of task ids in the last beat.
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    spec TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    beat INTEGER NOT NULL DEFAULT 0,
    beat_at INTEGER NOT NULL,
    last_beat_at INTEGER NOT NULL,
    held TEXT NOT NULL DEFAULT '[]',
    should_drain INTEGER NOT NULL DEFAULT 0,
    closed_at INTEGER,
    is_dead INTEGER NOT NULL DEFAULT 0 -- closed by the reaper, not in order
);

CREATE TABLE queue_pause (
    tenant TEXT NOT NULL,
    queue TEXT NOT NULL,
    reason TEXT,
    paused_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, queue)
) WITHOUT ROWID;

CREATE TABLE task_log (
    task_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (task_id, epoch, seq)
) WITHOUT ROWID;

CREATE TABLE artifact (
    task_id TEXT NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (task_id, name)
);

-- What changed, in the transaction that changed it: one row per batch.
-- `events` is a JSON list of [task id, act, state after, epoch].
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    events TEXT NOT NULL
);

-- A task as it stands: its live row, or else its last attempt.
CREATE VIEW task_view AS
SELECT
    task.id,
    lane.tenant,
    lane.queue,
    lane.name,
    lane.priority,
    coalesce(live.state, last.outcome) AS state,
    task.created_at,
    coalesce(live.due_at, task.due_at) AS due_at,
    coalesce(live.epoch, last.epoch) AS epoch,
    coalesce(live.attempt, last.attempt) AS attempt,
    coalesce(live.failures, 0) AS failures,
    coalesce(live.crashes, 0) AS crashes,
    coalesce(live.cancel_requested, 0) AS cancel_requested,
    coalesce(live.started_at, last.started_at) AS started_at,
    CASE WHEN live.id IS NULL THEN last.finished_at END AS finished_at,
    coalesce(live.session, last.session) AS session,
    task.options,
    task.idempotency_key,
    CASE WHEN live.id IS NULL THEN last.result END AS result,
    last.error,
    task.payload
FROM task
INNER JOIN lane ON task.lane = lane.id
LEFT JOIN task_live AS live ON task.id = live.id
LEFT JOIN attempt AS last
    ON task.id = last.task_id AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = task.id);
