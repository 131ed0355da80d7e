-- What people decided about failures of one cause. Rows outlive the failures: a cause that comes back is known.
CREATE TABLE failure_triage (
    tenant TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('open', 'acknowledged', 'resolved', 'ignored')),
    decided_at INTEGER, -- NULL if only a note or an owner was given
    decided_by TEXT,
    ignored_until INTEGER,
    note TEXT,
    owner TEXT,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, fingerprint)
) WITHOUT ROWID;
CREATE INDEX failure_triage_by_change ON failure_triage (tenant, changed_at DESC, fingerprint);
