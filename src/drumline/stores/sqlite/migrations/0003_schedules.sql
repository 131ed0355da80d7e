-- Schedules: rules that make tasks or jobs at fire times. Numbers of states and kinds are those of
-- backends/schedule_rows.py.

-- What was asked for: wide, and seldom changed.
CREATE TABLE schedule (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    rule TEXT NOT NULL,
    policy TEXT NOT NULL, -- '{}' when all is default
    target TEXT NOT NULL,
    app TEXT, -- the app that has it in its code
    module TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (tenant, name)
);
CREATE INDEX schedule_by_app ON schedule (app, id) WHERE app IS NOT NULL;

-- Where it stands: narrow, changed by every firing.
CREATE TABLE schedule_live (
    id TEXT PRIMARY KEY,
    state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
    fire_at INTEGER, -- the next fire time; NULL unless it is active
    due_at INTEGER, -- and the moment at which that fires: later by its share of the jitter
    version INTEGER NOT NULL DEFAULT 1,
    changed_at INTEGER NOT NULL,
    reason TEXT,
    runs INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    missed INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0, -- runs that wait for the one before them
    last_fire_time INTEGER,
    last_task TEXT,
    last_job TEXT
) WITHOUT ROWID;
CREATE INDEX schedule_live_due ON schedule_live (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedule_live_waiting ON schedule_live (id) WHERE waiting > 0;

-- One row per firing. The key is what makes a fire time fire once.
CREATE TABLE schedule_run (
    schedule_id TEXT NOT NULL,
    fire_time INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
    created_at INTEGER NOT NULL,
    start_at INTEGER, -- when a waiting run starts; NULL if it waits for the one before it
    task_id TEXT,
    job_id TEXT,
    reason TEXT,
    PRIMARY KEY (schedule_id, fire_time)
) WITHOUT ROWID;
CREATE INDEX schedule_run_queued ON schedule_run (schedule_id, fire_time) WHERE state = 1 AND start_at IS NULL;
CREATE INDEX schedule_run_to_start ON schedule_run (start_at) WHERE state = 1 AND start_at IS NOT NULL;
CREATE INDEX schedule_run_by_age ON schedule_run (created_at);

-- One row: when a scheduler last left word that it is here.
CREATE TABLE schedule_watch (
    is_only INTEGER PRIMARY KEY DEFAULT 1 CHECK (is_only = 1),
    seen_at INTEGER NOT NULL,
    words INTEGER NOT NULL DEFAULT 1 -- rises with each: two may carry the same time, when clocks are set
);
