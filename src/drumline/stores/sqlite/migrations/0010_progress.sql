-- How far attempts are, by their own word: the latest of each task.
CREATE TABLE progress (
    task_id TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    at INTEGER NOT NULL,
    done REAL NOT NULL,
    total REAL,
    message TEXT NOT NULL
) WITHOUT ROWID;
