-- Durable tasks (major 1): what they have done, by name, and what they wait for.

-- How many records a task has, and how many bytes of them: what a claim has to fetch, and what may still be added.
-- It is counted in the live row, which every record locks; so each record gets a number of its own.
ALTER TABLE drumline.task_live
ADD COLUMN records int4 NOT NULL DEFAULT 0,
ADD COLUMN record_bytes int4 NOT NULL DEFAULT 0;

-- What a task has done. Numbers of kinds and statuses are those of core/durable.py.
CREATE TABLE drumline.step_record (
    task_id uuid NOT NULL,
    started_at int8 NOT NULL,
    at int8 NOT NULL,
    due_at int8, -- when a step that failed is tried again
    seq int4 NOT NULL,
    epoch int4 NOT NULL,
    tries int4 NOT NULL,
    kind int2 NOT NULL,
    status int2 NOT NULL,
    name text NOT NULL,
    key text NOT NULL, -- empty without one
    value bytea NOT NULL, -- JSON: a result, or an error
    PRIMARY KEY (task_id, name, key)
);
CREATE INDEX step_record_in_order ON drumline.step_record (task_id, seq);

-- What a task waits for. It is due at the earliest deadline of what its last attempt waited for. A row stays until its
-- wait is answered, so that a deadline counts from the first attempt that waited.
CREATE TABLE drumline.task_wait (
    task_id uuid NOT NULL,
    since int8 NOT NULL,
    deadline int8, -- NULL if it waits for something other than a time
    epoch int4 NOT NULL, -- of the last attempt that waited for it
    kind int2 NOT NULL,
    name text NOT NULL,
    key text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (task_id, name, key)
);

-- As in 0018_wall.sql: rows that belong to a task.
CREATE POLICY wall ON drumline.step_record USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = step_record.task_id OFFSET 0)
);
ALTER TABLE drumline.step_record ENABLE ROW LEVEL SECURITY;
CREATE POLICY wall ON drumline.task_wait USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = task_wait.task_id OFFSET 0)
);
ALTER TABLE drumline.task_wait ENABLE ROW LEVEL SECURITY;
