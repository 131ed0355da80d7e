-- What people decided about failures of one cause (major 1). Rows outlive the failures: a cause that comes back is known.
CREATE TABLE drumline.failure_triage (
    changed_at int8 NOT NULL,
    decided_at int8, -- NULL if only a note or an owner was given
    ignored_until int8,
    tenant text NOT NULL,
    fingerprint text NOT NULL,
    decision text NOT NULL CHECK (decision IN ('open', 'acknowledged', 'resolved', 'ignored')),
    decided_by text,
    note text,
    owner text,
    PRIMARY KEY (tenant, fingerprint)
);
CREATE INDEX failure_triage_by_change ON drumline.failure_triage (tenant, changed_at DESC, fingerprint);

-- As in 0018_wall.sql.
CREATE POLICY wall ON drumline.failure_triage USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR tenant = nullif(current_setting('drumline.tenant', true), '')
);
ALTER TABLE drumline.failure_triage ENABLE ROW LEVEL SECURITY;
