-- Schedules (major 1): rules that make tasks or jobs at fire times. Numbers of states and kinds are those of
-- backends/schedule_rows.py.

-- What was asked for: wide, and seldom changed.
CREATE TABLE drumline.schedule (
    id uuid NOT NULL,
    created_at int8 NOT NULL,
    tenant text NOT NULL,
    name text NOT NULL,
    rule text NOT NULL,
    policy text NOT NULL, -- '{}' when all is default
    target text NOT NULL,
    app text, -- the app that has it in its code
    module text,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX schedule_by_name ON drumline.schedule (name, tenant);
CREATE INDEX schedule_by_app ON drumline.schedule (app, id) WHERE app IS NOT NULL;

-- Where it stands: narrow, changed by every firing. Its row is the schedule's lock.
CREATE TABLE drumline.schedule_live (
    id uuid NOT NULL,
    fire_at int8, -- the next fire time; NULL unless it is active
    due_at int8, -- and the moment at which that fires: later by its share of the jitter
    changed_at int8 NOT NULL,
    runs int8 NOT NULL DEFAULT 0,
    skipped int8 NOT NULL DEFAULT 0,
    missed int8 NOT NULL DEFAULT 0,
    last_fire_time int8,
    version int4 NOT NULL DEFAULT 1,
    waiting int4 NOT NULL DEFAULT 0, -- runs that wait for the one before them
    state int2 NOT NULL CHECK (state BETWEEN 0 AND 2),
    last_task uuid,
    last_job uuid,
    reason text,
    PRIMARY KEY (id)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX schedule_live_due ON drumline.schedule_live (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedule_live_waiting ON drumline.schedule_live (id) WHERE waiting > 0;

-- One row per firing. The key is what makes a fire time fire once.
CREATE TABLE drumline.schedule_run (
    schedule_id uuid NOT NULL,
    fire_time int8 NOT NULL,
    created_at int8 NOT NULL,
    start_at int8, -- when a waiting run starts; NULL if it waits for the one before it
    kind int2 NOT NULL,
    state int2 NOT NULL CHECK (state BETWEEN 0 AND 2),
    task_id uuid,
    job_id uuid,
    reason text,
    PRIMARY KEY (schedule_id, fire_time)
);
CREATE INDEX schedule_run_queued ON drumline.schedule_run (schedule_id, fire_time) WHERE state = 1 AND start_at IS NULL;
CREATE INDEX schedule_run_to_start ON drumline.schedule_run (start_at) WHERE state = 1 AND start_at IS NOT NULL;
CREATE INDEX schedule_run_by_age ON drumline.schedule_run (created_at);

-- One row: when a scheduler last left word that it is here.
CREATE TABLE drumline.schedule_watch (
    is_only bool PRIMARY KEY DEFAULT true CHECK (is_only),
    seen_at int8 NOT NULL,
    words int8 NOT NULL DEFAULT 1 -- rises with each: two may carry the same time, when clocks are set
) WITH (fillfactor = 50);
