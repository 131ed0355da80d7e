-- Jobs that wait for jobs in other databases (major 1): as on PostgreSQL, so that jobs are one code for both.
ALTER TABLE job ADD COLUMN life INTEGER NOT NULL DEFAULT 1; -- how often it was resumed, and one
ALTER TABLE job_dep ADD COLUMN is_far INTEGER NOT NULL DEFAULT 0; -- another database keeps the job that is awaited
ALTER TABLE job_dep ADD COLUMN is_registered INTEGER NOT NULL DEFAULT 0; -- and knows of the wait
CREATE INDEX job_dep_unregistered ON job_dep (job_id, needs_job) WHERE is_far AND NOT is_registered AND NOT is_done;

CREATE TABLE job_watch (
    needs_job TEXT NOT NULL,
    job_id TEXT NOT NULL,
    life INTEGER NOT NULL,
    PRIMARY KEY (needs_job, job_id)
) WITHOUT ROWID;

CREATE TABLE watch_ripple (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    needs_job TEXT NOT NULL,
    job_id TEXT NOT NULL,
    life INTEGER NOT NULL,
    status INTEGER NOT NULL,
    name TEXT NOT NULL
);
