-- Fair shares between tenants, and limits on how much runs at once and how often.

ALTER TABLE tenant ADD COLUMN weight INTEGER; -- NULL means 1, like everybody's

CREATE TABLE flow_limit (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    queue TEXT, -- NULL means every queue
    task TEXT, -- NULL means every task name
    keyed_by TEXT, -- where the key of a task is found; NULL means that all its tasks count together
    max_concurrent INTEGER, -- how many at once; NULL means any number
    rate INTEGER, -- how many starts in any stretch of period_ms
    period_ms INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (tenant, name)
);

-- Keys as small numbers.
CREATE TABLE limit_key (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    UNIQUE (key, tenant)
);

-- What was started under a limit. It takes a place among those running for as long as task_live has this very lease,
-- so that whatever ends the lease frees the place; and one in the rate until its period has passed.
CREATE TABLE slot (
    limit_id INTEGER NOT NULL,
    limit_key INTEGER NOT NULL, -- 0 if the limit has no keys
    task_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (limit_id, limit_key, task_id, epoch)
) WITHOUT ROWID;

-- A lane under a limit with keys has a twin: its tasks go there when their key was looked up, ordered by it.
DROP VIEW task_view;
CREATE TABLE lane_with_twins (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    priority INTEGER NOT NULL,
    is_keyed INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, queue, name, priority, is_keyed)
);
INSERT INTO lane_with_twins (id, tenant, queue, name, priority)
SELECT id, tenant, queue, name, priority FROM lane;
DROP TABLE lane;
ALTER TABLE lane_with_twins RENAME TO lane;
ALTER TABLE task_live ADD COLUMN limit_key INTEGER NOT NULL DEFAULT 0;
CREATE INDEX task_live_keyed ON task_live (lane, limit_key, due_at) WHERE state = 1 AND limit_key <> 0;

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
