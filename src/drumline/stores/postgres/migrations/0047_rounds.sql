-- Rounds of durable tasks (major 1): what a task was given and has done before it began anew. The present round is where
-- it always was, in task, step_record and task_link; so a version that does not know of rounds sees that one only.

-- A round that is over.
CREATE TABLE drumline.task_round (
    task_id uuid NOT NULL,
    ended_at int8 NOT NULL,
    round int4 NOT NULL, -- from 1
    epoch int4 NOT NULL, -- of its last attempt
    records int4 NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (task_id, round)
);

-- The records of rounds that are over: those of step_record.
CREATE TABLE drumline.round_record (
    task_id uuid NOT NULL,
    started_at int8 NOT NULL,
    at int8 NOT NULL,
    due_at int8,
    round int4 NOT NULL,
    seq int4 NOT NULL,
    epoch int4 NOT NULL,
    tries int4 NOT NULL,
    kind int2 NOT NULL,
    status int2 NOT NULL,
    name text NOT NULL,
    key text NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (task_id, round, seq)
);

-- The children of rounds that are over: those of task_link. How each ended is not waited for any more.
CREATE TABLE drumline.round_link (
    task_id uuid NOT NULL,
    child_id uuid NOT NULL,
    round int4 NOT NULL,
    place int4 NOT NULL,
    on_end int2 NOT NULL,
    name text NOT NULL,
    key text NOT NULL,
    PRIMARY KEY (task_id, round, name, key, place)
);
CREATE UNIQUE INDEX round_link_of_child ON drumline.round_link (child_id);

-- As in 0018_wall.sql: rows that belong to a task.
CREATE POLICY wall ON drumline.task_round USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = task_round.task_id OFFSET 0)
);
ALTER TABLE drumline.task_round ENABLE ROW LEVEL SECURITY;
CREATE POLICY wall ON drumline.round_record USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = round_record.task_id OFFSET 0)
);
ALTER TABLE drumline.round_record ENABLE ROW LEVEL SECURITY;
CREATE POLICY wall ON drumline.round_link USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = round_link.task_id OFFSET 0)
);
ALTER TABLE drumline.round_link ENABLE ROW LEVEL SECURITY;
