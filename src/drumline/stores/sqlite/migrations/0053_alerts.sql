-- Alert rules, when they fired, and service level objectives.
CREATE TABLE alert_rule (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    condition TEXT NOT NULL,
    severity TEXT NOT NULL,
    slo TEXT,
    created_at INTEGER NOT NULL,
    every_ms INTEGER NOT NULL,
    due_at INTEGER, -- when it is evaluated next; NULL while it is paused
    turn INTEGER NOT NULL DEFAULT 0, -- rises with every change of state or definition
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
    since INTEGER NOT NULL, -- when it came into its state
    is_told INTEGER NOT NULL DEFAULT 0, -- it fires, and its event was written
    muted_until INTEGER,
    value REAL,
    evaluated_at INTEGER,
    UNIQUE (tenant, name)
) WITHOUT ROWID;
CREATE INDEX alert_rule_due ON alert_rule (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX alert_rule_of_slo ON alert_rule (slo) WHERE slo IS NOT NULL;

CREATE TABLE alert_incident (
    rule TEXT NOT NULL,
    fired_at INTEGER NOT NULL,
    resolved_at INTEGER,
    tenant TEXT NOT NULL,
    value REAL NOT NULL,
    peak REAL NOT NULL,
    reason TEXT,
    PRIMARY KEY (rule, fired_at)
) WITHOUT ROWID;
CREATE INDEX alert_incident_by_time ON alert_incident (tenant, fired_at DESC, rule);

CREATE TABLE slo (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    task TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL, -- when it is counted next
    turn INTEGER NOT NULL DEFAULT 0, -- rises with every change of its definition
    counted_until INTEGER NOT NULL, -- the hours before are counted for good
    counted_at INTEGER,
    burn_fast REAL,
    burn_slow REAL,
    UNIQUE (tenant, name)
) WITHOUT ROWID;
CREATE INDEX slo_due ON slo (due_at);

CREATE TABLE slo_hour (
    slo TEXT NOT NULL,
    at INTEGER NOT NULL,
    good INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (slo, at)
) WITHOUT ROWID;
