-- Collapse keys (major 1): the last task of each, since when its time counts, and until when it stands for others.
CREATE TABLE collapse_key (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL, -- the task's name, the kind of rule and what the submission said, as lines
    task_id TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX collapse_key_until ON collapse_key (until);
