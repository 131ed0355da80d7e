-- Jobs: graphs of tasks. Numbers of statuses and run_if are those of backends/job_rows.py.

ALTER TABLE task_live ADD COLUMN in_job INTEGER NOT NULL DEFAULT 0;

-- A job as it stands. The counts are of ended tasks: they are exact at every commit.
CREATE TABLE job (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    owner TEXT,
    status INTEGER NOT NULL DEFAULT 1,
    options TEXT NOT NULL,
    total INTEGER NOT NULL,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    pending_jobs INTEGER NOT NULL DEFAULT 0, -- jobs that it still waits for; until then all its tasks are blocked
    failed_by TEXT, -- the job whose failure failed it
    reason TEXT,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    idempotency_key TEXT,
    fingerprint BLOB,
    schedule_id TEXT,
    fire_time INTEGER
);
CREATE UNIQUE INDEX job_by_idempotency_key ON job (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX job_by_status ON job (status, id);
CREATE INDEX job_by_tenant ON job (tenant, id);
CREATE INDEX job_by_name ON job (name, id);
CREATE INDEX job_by_owner ON job (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX job_by_schedule ON job (schedule_id, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX job_ended ON job (finished_at) WHERE finished_at IS NOT NULL;

-- How a task hangs together with the others of its job. Ids of tasks rise in the order in which they were given.
CREATE TABLE job_task (
    task_id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL,
    key TEXT NOT NULL,
    run_if INTEGER NOT NULL,
    pending INTEGER NOT NULL, -- tasks that it needs and that have not ended; true while it is blocked
    bad INTEGER NOT NULL DEFAULT 0, -- those that ended badly; likewise
    delay_ms INTEGER NOT NULL DEFAULT 0, -- from its release
    run_at INTEGER,
    cause TEXT, -- the task because of which it was skipped
    UNIQUE (job_id, key)
) WITHOUT ROWID;

CREATE TABLE task_edge (
    parent TEXT NOT NULL,
    child TEXT NOT NULL,
    PRIMARY KEY (parent, child)
) WITHOUT ROWID;
CREATE INDEX task_edge_by_child ON task_edge (child);

-- Jobs that wait for others.
CREATE TABLE job_dep (
    job_id TEXT NOT NULL,
    needs_job TEXT NOT NULL,
    is_done INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, needs_job)
) WITHOUT ROWID;
CREATE INDEX job_dep_by_needed ON job_dep (needs_job) WHERE NOT is_done;

-- Jobs that have ended while others wait for them, who have to be told.
CREATE TABLE job_ripple (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL
);

-- A task as it stands, as before, but that a blocked one is not due at any time.
DROP VIEW task_view;
CREATE VIEW task_view AS
SELECT
    task.id,
    lane.tenant,
    lane.queue,
    lane.name,
    lane.priority,
    coalesce(live.state, last.outcome) AS state,
    task.created_at,
    CASE WHEN live.state = 0 THEN NULL ELSE coalesce(live.due_at, task.due_at) END AS due_at,
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
