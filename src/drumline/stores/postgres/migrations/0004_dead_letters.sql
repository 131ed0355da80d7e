-- Dead letters, and acts on many tasks at once (major 1).

-- Why tasks of a lane failed for good, as a number. `count` is that of its dead letters, so that groups are never counted.
-- Whoever changes a count does so last in its transaction, in the order of (lane, fingerprint): nobody waits crosswise.
CREATE TABLE drumline.cause (
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    first_at int8 NOT NULL,
    last_at int8 NOT NULL,
    count int8 NOT NULL,
    lane int4 NOT NULL,
    fingerprint text NOT NULL,
    kind text NOT NULL,
    message text NOT NULL, -- with all that varies folded away
    UNIQUE (lane, fingerprint)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX cause_by_fingerprint ON drumline.cause (fingerprint);

-- The tasks that failed for good and that nobody has retried or discarded. Payload and history are the task's own.
CREATE TABLE drumline.dead_letter (
    task_id uuid PRIMARY KEY,
    at int8 NOT NULL,
    cause int8 NOT NULL,
    epoch int4 NOT NULL, -- of the attempt that failed
    attempts int4 NOT NULL,
    reason text NOT NULL,
    message text NOT NULL, -- as the error said it, cut
    job_id uuid,
    tags jsonb -- the task's
);
CREATE INDEX dead_letter_by_time ON drumline.dead_letter (at, task_id);
CREATE INDEX dead_letter_by_cause ON drumline.dead_letter (cause, at, task_id);
CREATE INDEX dead_letter_by_job ON drumline.dead_letter (job_id, at, task_id) WHERE job_id IS NOT NULL;

-- What a task was given before somebody changed it; attempts up to this epoch ran with it.
CREATE TABLE drumline.payload_edit (
    task_id uuid NOT NULL,
    at int8 NOT NULL,
    epoch int4 NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (task_id, epoch)
);

-- An act on many tasks. Its items are carried out in the order of seq: those up to `position` have been.
CREATE TABLE drumline.bulk (
    id uuid PRIMARY KEY,
    created_at int8 NOT NULL,
    finished_at int8,
    tokens_at int8 NOT NULL,
    tokens float8 NOT NULL DEFAULT 1,
    rate float8,
    total int4 NOT NULL,
    position int4 NOT NULL DEFAULT 0,
    failed int4 NOT NULL DEFAULT 0,
    skipped int4 NOT NULL DEFAULT 0,
    tenant text, -- NULL means every tenant's
    act text NOT NULL,
    state text NOT NULL CHECK (state IN ('running', 'completed', 'aborted')),
    request text NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX bulk_running ON drumline.bulk (id) WHERE state = 'running';

-- What a bulk act is about: the tasks as they were when it was asked for. `outcome` and `error` are there only for
-- those that the act did not hold for.
CREATE TABLE drumline.bulk_item (
    bulk_id uuid NOT NULL,
    task_id uuid NOT NULL,
    seq int4 NOT NULL,
    epoch int4, -- of the dead letter; one that is gone or has been replaced is not touched
    outcome text,
    error text,
    PRIMARY KEY (bulk_id, seq)
);
CREATE INDEX bulk_item_refused ON drumline.bulk_item (bulk_id, seq) WHERE outcome IS NOT NULL;
