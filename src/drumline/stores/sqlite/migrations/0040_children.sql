-- Children of durable tasks (major 1): which task started which, and how many of them are waited for.

-- 1 for a task that another one started, 2 for one that has started others, 3 for both: its end has consequences.
ALTER TABLE task_live ADD COLUMN family INTEGER NOT NULL DEFAULT 0;

-- A task that another one started, by the name and key of the call, and its place among those that were started together.
CREATE TABLE task_link (
    parent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    place INTEGER NOT NULL,
    child_id TEXT NOT NULL,
    epoch INTEGER, -- of the attempt whose outcome counts
    state INTEGER, -- how it ended; NULL while its parent may wait for it
    on_end INTEGER NOT NULL, -- what the end of the parent means for it: numbers of core/children.py
    PRIMARY KEY (parent_id, name, key, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX task_link_of_child ON task_link (child_id);
CREATE INDEX task_link_live ON task_link (parent_id, name, key, place) WHERE state IS NULL;

-- What has to be done about the children of a task, in batches: numbers of core/children.py.
CREATE TABLE child_note (
    parent_id TEXT NOT NULL,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL, -- of the call, if it is about that one only
    key TEXT NOT NULL,
    PRIMARY KEY (parent_id, kind, name, key)
) WITHOUT ROWID;

-- With a wait for children: how many have not ended, and how few of them make the parent due.
ALTER TABLE task_wait ADD COLUMN pending INTEGER;
ALTER TABLE task_wait ADD COLUMN wake_at INTEGER;
