-- Jobs that wait for jobs in other databases of the installation (major 1).

-- How often the job was resumed, and one: it tells what belongs to an earlier wait from what belongs to this one.
ALTER TABLE drumline.job ADD COLUMN life int4 NOT NULL DEFAULT 1;

-- A wait for a job that another database keeps, and whether that one knows of it.
ALTER TABLE drumline.job_dep ADD COLUMN is_far bool NOT NULL DEFAULT false;
ALTER TABLE drumline.job_dep ADD COLUMN is_registered bool NOT NULL DEFAULT false;
CREATE INDEX job_dep_unregistered ON drumline.job_dep (job_id, needs_job)
WHERE is_far AND NOT is_registered AND NOT is_done;

-- All waits for a job that leaves this database, those that it has failed too.
CREATE INDEX job_dep_by_awaited ON drumline.job_dep (needs_job);

-- Jobs of other databases that wait for jobs of this one, and the life in which they do.
CREATE TABLE drumline.job_watch (
    needs_job uuid NOT NULL,
    job_id uuid NOT NULL,
    life int4 NOT NULL,
    PRIMARY KEY (needs_job, job_id)
);

-- Jobs of other databases that have to be told how a job of this one ended; 0 is the status of one that does not exist.
CREATE TABLE drumline.watch_ripple (
    seq int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    needs_job uuid NOT NULL,
    job_id uuid NOT NULL,
    life int4 NOT NULL,
    status int2 NOT NULL,
    name text NOT NULL
);
