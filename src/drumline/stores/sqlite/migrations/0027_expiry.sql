-- Tasks that are cancelled if they have not started by a time (major 1). A row goes when that time has come.
CREATE TABLE task_expiry (
    task_id TEXT NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_expiry_due ON task_expiry (expires_at, task_id);
