-- Forks of durable tasks, and what an answer to a wait has to look like (major 1).

-- New tasks that were given the records of another, by the sender's id: the same request sent twice makes one.
CREATE TABLE drumline.task_fork (
    task_id uuid NOT NULL, -- the task whose records were copied
    fork_id uuid NOT NULL,
    at int8 NOT NULL,
    records int4 NOT NULL, -- how many were copied
    id text NOT NULL,
    fingerprint bytea NOT NULL, -- of what was asked for
    PRIMARY KEY (task_id, id)
);

-- As in 0018_wall.sql: rows that belong to a task.
CREATE POLICY wall ON drumline.task_fork USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = task_fork.task_id OFFSET 0)
);
ALTER TABLE drumline.task_fork ENABLE ROW LEVEL SECURITY;

-- The JSON schema of the payload that a wait for a signal expects; people get a form for it.
ALTER TABLE drumline.task_wait ADD COLUMN schema text;
