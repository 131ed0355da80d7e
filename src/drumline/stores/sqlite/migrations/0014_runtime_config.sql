-- Settings that hold for the whole fleet: the newest version counts, the others are history.
CREATE TABLE runtime_config (
    version INTEGER PRIMARY KEY,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    reason TEXT,
    settings TEXT NOT NULL
);
