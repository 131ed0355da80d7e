-- The first schema (major 1). All times are whole milliseconds since 1970 (UTC).
-- Numbers of states and outcomes are those of core/state.py and core/attempt.py, of acts those of acts.py.

-- Tasks that are alike to a dispatcher, as a small number.
CREATE TABLE drumline.lane (
    id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    priority int2 NOT NULL,
    UNIQUE (name, queue, tenant, priority) -- name first: a claim asks by the names that a worker can run
);

-- What was asked for: wide, written once (but for a reschedule).
CREATE TABLE drumline.task (
    id uuid NOT NULL,
    due_at int8 NOT NULL, -- as asked for; task_live has when it is due next
    created_at int8 NOT NULL,
    lane int4 NOT NULL,
    payload bytea NOT NULL,
    options text,
    idempotency_key text,
    PRIMARY KEY (id)
);
-- Nobody may come to a task's id through its lane. Where a vacuum has just seen an empty table, the planner takes all
-- ways for equally short, and would read this whole index for each id. So it serves only those who say lane > 0.
CREATE INDEX task_by_lane ON drumline.task (lane, id) WHERE lane > 0;
CREATE INDEX task_by_tag ON drumline.task USING gin ((options::jsonb -> 'tags'))
WHERE options LIKE '%"tags"%';

-- Where it stands: narrow, and only while the task has not ended.
-- No index mentions what a claim changes, and no column grows by it, so that claims are HOT: a page is filled half,
-- and each row finds room for its second version beside it.
CREATE TABLE drumline.task_live (
    id uuid NOT NULL,
    due_at int8, -- NULL while blocked
    nonce int8 NOT NULL DEFAULT 0,
    session int8 NOT NULL DEFAULT 0,
    started_at int8 NOT NULL DEFAULT 0,
    lane int4 NOT NULL,
    epoch int4 NOT NULL DEFAULT 0,
    state int2 NOT NULL DEFAULT 1 CHECK (state BETWEEN 0 AND 2),
    attempt int4 NOT NULL DEFAULT 0,
    failures int4 NOT NULL DEFAULT 0,
    crashes int4 NOT NULL DEFAULT 0,
    cancel_requested bool NOT NULL DEFAULT false,
    PRIMARY KEY (id)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
-- Likewise: of use only to those who ask for a due_at, and not to those who have an id.
CREATE INDEX task_live_due ON drumline.task_live (lane, due_at, id) WHERE due_at IS NOT NULL;

-- What happened: one row per execution, and one for an end without execution. Written once.
-- The nonce is there only if the attempt's own worker settled it: that is how a repeated settlement is recognised.
CREATE TABLE drumline.attempt (
    task_id uuid NOT NULL,
    nonce int8,
    session int8,
    started_at int8,
    finished_at int8 NOT NULL,
    epoch int4 NOT NULL,
    lane int4 NOT NULL,
    attempt int4 NOT NULL,
    outcome int2 NOT NULL,
    result bytea,
    error text,
    PRIMARY KEY (task_id, epoch)
);
CREATE INDEX attempt_unhappy ON drumline.attempt (outcome, task_id) WHERE outcome BETWEEN 4 AND 6;

-- What was handed out: one row per claim, so that what a session holds is found without an index on task_live.
-- A reap deletes the row when nothing in it is running under this claim any more.
CREATE TABLE drumline.claim (
    session int8 NOT NULL,
    nonce int8 NOT NULL,
    beat int4 NOT NULL, -- the session's beat number at the time
    tasks uuid [] NOT NULL
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE drumline.claim ALTER tasks SET STORAGE EXTERNAL;
CREATE INDEX claim_by_session ON drumline.claim (session);

CREATE TABLE drumline.idempotency (
    key text NOT NULL,
    tenant text NOT NULL,
    task_id uuid NOT NULL,
    due_at int8 NOT NULL,
    fingerprint bytea NOT NULL,
    PRIMARY KEY (key, tenant)
);

-- The registry of workers. `held` is the tasks that the last beat named.
CREATE TABLE drumline.session (
    id int8 PRIMARY KEY,
    opened_at int8 NOT NULL,
    beat_at int8 NOT NULL,
    closed_at int8,
    beat int4 NOT NULL DEFAULT 0,
    should_drain bool NOT NULL DEFAULT false,
    is_dead bool NOT NULL DEFAULT false, -- closed by the reaper, not in order
    held uuid [] NOT NULL DEFAULT '{}',
    spec text NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE drumline.queue_pause (
    tenant text NOT NULL,
    queue text NOT NULL,
    reason text,
    paused_at int8 NOT NULL,
    PRIMARY KEY (tenant, queue)
);

CREATE TABLE drumline.task_log (
    task_id uuid NOT NULL,
    epoch int4 NOT NULL,
    seq int4 NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (task_id, epoch, seq)
);

CREATE TABLE drumline.artifact (
    task_id uuid NOT NULL,
    created_at int8 NOT NULL,
    name text NOT NULL,
    content_type text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (task_id, name)
);
ALTER TABLE drumline.artifact ALTER data SET STORAGE EXTERNAL;

-- What changed, in the transaction that changed it: one row per batch, four lists of equal length.
-- The order of seq is not the order of commits: who reads must take rows and delete them, never remember a position.
CREATE TABLE drumline.outbox (
    seq int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at int8 NOT NULL,
    tasks uuid [] NOT NULL,
    acts int2 [] NOT NULL,
    states int2 [] NOT NULL,
    epochs int4 [] NOT NULL
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE drumline.outbox
ALTER tasks SET STORAGE EXTERNAL,
ALTER acts SET STORAGE EXTERNAL,
ALTER states SET STORAGE EXTERNAL,
ALTER epochs SET STORAGE EXTERNAL;
