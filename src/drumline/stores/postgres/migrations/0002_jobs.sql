-- Jobs (major 1): graphs of tasks. Numbers of statuses and run_if are those of backends/job_rows.py.

-- Where alignment leaves room for it anyway.
ALTER TABLE drumline.task_live ADD COLUMN in_job bool NOT NULL DEFAULT false;

-- A job as it stands. The counts are of ended tasks: they are exact at every commit.
-- The row is the lock of the whole graph: who ends a task of it, or brings one back, locks the row first.
-- No index mentions the counts, and a page is filled half, so that counting is HOT.
CREATE TABLE drumline.job (
    id uuid NOT NULL,
    created_at int8 NOT NULL,
    started_at int8,
    finished_at int8,
    fire_time int8,
    total int4 NOT NULL,
    completed int4 NOT NULL DEFAULT 0,
    failed int4 NOT NULL DEFAULT 0,
    cancelled int4 NOT NULL DEFAULT 0,
    skipped int4 NOT NULL DEFAULT 0,
    pending_jobs int4 NOT NULL DEFAULT 0, -- jobs that it still waits for; until then all its tasks are blocked
    status int2 NOT NULL DEFAULT 1,
    cancel_requested bool NOT NULL DEFAULT false,
    failed_by uuid, -- the job whose failure failed it
    tenant text NOT NULL,
    name text NOT NULL,
    owner text,
    options text NOT NULL,
    reason text,
    idempotency_key text,
    fingerprint bytea,
    schedule_id text,
    PRIMARY KEY (id)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX job_by_idempotency_key ON drumline.job (idempotency_key, tenant) WHERE idempotency_key IS NOT NULL;
-- Nobody may come to a job's id through these: see task_by_lane.
CREATE INDEX job_by_status ON drumline.job (status, id) WHERE status > 0;
CREATE INDEX job_by_tenant ON drumline.job (tenant, id) WHERE tenant > '';
CREATE INDEX job_by_name ON drumline.job (name, id) WHERE name > '';
CREATE INDEX job_by_owner ON drumline.job (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX job_by_schedule ON drumline.job (schedule_id, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX job_ended ON drumline.job (finished_at) WHERE finished_at IS NOT NULL;

-- How a task hangs together with the others of its job. Ids of tasks rise in the order in which they were given.
-- The counts are true while the task is blocked: who releases it need not write them.
CREATE TABLE drumline.job_task (
    task_id uuid NOT NULL,
    job_id uuid NOT NULL,
    delay_ms int8 NOT NULL DEFAULT 0, -- from its release
    run_at int8,
    pending int4 NOT NULL, -- tasks that it needs and that have not ended
    bad int4 NOT NULL DEFAULT 0, -- those that ended badly
    run_if int2 NOT NULL,
    cause uuid, -- the task because of which it was skipped
    key text NOT NULL,
    PRIMARY KEY (task_id)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX job_task_by_key ON drumline.job_task (job_id, key);

CREATE TABLE drumline.task_edge (
    parent uuid NOT NULL,
    child uuid NOT NULL,
    PRIMARY KEY (parent, child)
);
CREATE INDEX task_edge_by_child ON drumline.task_edge (child);

-- Jobs that wait for others.
CREATE TABLE drumline.job_dep (
    job_id uuid NOT NULL,
    needs_job uuid NOT NULL,
    is_done bool NOT NULL DEFAULT false,
    PRIMARY KEY (job_id, needs_job)
);
CREATE INDEX job_dep_by_needed ON drumline.job_dep (needs_job) WHERE NOT is_done;

-- Jobs that have ended while others wait for them, who have to be told.
CREATE TABLE drumline.job_ripple (
    seq int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL
);
CREATE INDEX job_ripple_by_job ON drumline.job_ripple (job_id);
