-- Alert rules, when they fired, and service level objectives (major 1).
CREATE TABLE drumline.alert_rule (
    id uuid PRIMARY KEY,
    created_at int8 NOT NULL,
    due_at int8, -- when it is evaluated next; NULL while it is paused
    turn int8 NOT NULL DEFAULT 0, -- rises with every change of state or definition
    since int8 NOT NULL, -- when it came into its state
    muted_until int8,
    evaluated_at int8,
    value float8,
    every_ms int4 NOT NULL,
    state int2 NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
    is_told bool NOT NULL DEFAULT false, -- it fires, and its event was written
    slo uuid,
    tenant text NOT NULL,
    name text NOT NULL,
    severity text NOT NULL,
    condition text NOT NULL,
    UNIQUE (tenant, name)
) WITH (fillfactor = 50);
CREATE INDEX alert_rule_due ON drumline.alert_rule (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX alert_rule_of_slo ON drumline.alert_rule (slo) WHERE slo IS NOT NULL;

CREATE TABLE drumline.alert_incident (
    rule uuid NOT NULL,
    fired_at int8 NOT NULL,
    resolved_at int8,
    value float8 NOT NULL,
    peak float8 NOT NULL,
    tenant text NOT NULL,
    reason text,
    PRIMARY KEY (rule, fired_at)
);
CREATE INDEX alert_incident_by_time ON drumline.alert_incident (tenant, fired_at DESC, rule);

CREATE TABLE drumline.slo (
    id uuid PRIMARY KEY,
    created_at int8 NOT NULL,
    due_at int8 NOT NULL, -- when it is counted next
    turn int8 NOT NULL DEFAULT 0, -- rises with every change of its definition
    counted_until int8 NOT NULL, -- the hours before are counted for good
    counted_at int8,
    burn_fast float8,
    burn_slow float8,
    tenant text NOT NULL,
    name text NOT NULL,
    task text NOT NULL,
    definition text NOT NULL,
    UNIQUE (tenant, name)
) WITH (fillfactor = 50);
CREATE INDEX slo_due ON drumline.slo (due_at);

CREATE TABLE drumline.slo_hour (
    slo uuid NOT NULL,
    at int8 NOT NULL,
    good int8 NOT NULL,
    total int8 NOT NULL,
    PRIMARY KEY (slo, at)
);

-- As in 0018_wall.sql.
CREATE POLICY wall ON drumline.alert_rule USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.alert_rule ENABLE ROW LEVEL SECURITY;
CREATE POLICY wall ON drumline.alert_incident USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.alert_incident ENABLE ROW LEVEL SECURITY;
CREATE POLICY wall ON drumline.slo USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.slo ENABLE ROW LEVEL SECURITY;
CREATE POLICY wall ON drumline.slo_hour USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR slo IN (SELECT whose.id FROM drumline.slo AS whose)
);
ALTER TABLE drumline.slo_hour ENABLE ROW LEVEL SECURITY;
