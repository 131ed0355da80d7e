-- Children of durable tasks (major 1): which task started which, and how many of them are waited for.

-- 1 for a task that another one started, 2 for one that has started others, 3 for both: its end has consequences.
ALTER TABLE drumline.task_live ADD COLUMN family int2 NOT NULL DEFAULT 0;

-- A task that another one started, by the name and key of the call, and its place among those that were started together.
CREATE TABLE drumline.task_link (
    parent_id uuid NOT NULL,
    child_id uuid NOT NULL,
    place int4 NOT NULL,
    epoch int4, -- of the attempt whose outcome counts
    state int2, -- how it ended; NULL while its parent may wait for it
    on_end int2 NOT NULL, -- what the end of the parent means for it: numbers of core/children.py
    name text NOT NULL,
    key text NOT NULL,
    PRIMARY KEY (parent_id, name, key, place)
);
CREATE UNIQUE INDEX task_link_of_child ON drumline.task_link (child_id);
CREATE INDEX task_link_live ON drumline.task_link (parent_id, name, key, place) WHERE state IS NULL;

-- What has to be done about the children of a task, in batches: numbers of core/children.py.
CREATE TABLE drumline.child_note (
    parent_id uuid NOT NULL,
    kind int2 NOT NULL,
    name text NOT NULL, -- of the call, if it is about that one only
    key text NOT NULL,
    PRIMARY KEY (parent_id, kind, name, key)
);

-- With a wait for children: how many have not ended, and how few of them make the parent due.
ALTER TABLE drumline.task_wait
ADD COLUMN pending int4,
ADD COLUMN wake_at int4;

-- As in 0018_wall.sql: rows that belong to a task.
CREATE POLICY wall ON drumline.task_link USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = task_link.parent_id OFFSET 0)
);
ALTER TABLE drumline.task_link ENABLE ROW LEVEL SECURITY;
CREATE POLICY wall ON drumline.child_note USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR EXISTS (SELECT FROM drumline.task AS whose WHERE whose.id = child_note.parent_id OFFSET 0)
);
ALTER TABLE drumline.child_note ENABLE ROW LEVEL SECURITY;
