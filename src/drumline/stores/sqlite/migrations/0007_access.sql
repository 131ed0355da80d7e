-- Who may come in, whose things are whose, and who did what.

-- The tenant `default` is there even without a row.
CREATE TABLE tenant (
    name TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    queued INTEGER, -- quotas; NULL means as much as it likes
    payload_bytes INTEGER,
    schedules INTEGER
) WITHOUT ROWID;

-- Only the digest of a key is kept. A tenant of NULL is every tenant's.
CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    tenant TEXT,
    digest BLOB NOT NULL UNIQUE,
    spec TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    is_enabled INTEGER NOT NULL DEFAULT 1,
    uses INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- The chains of the audit log, one for each tenant. `text` is what the hash covers, with the hash of the row before.
CREATE TABLE audit (
    tenant TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    asks TEXT, -- for the second row of an act: the id of the first
    text TEXT NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (tenant, seq)
) WITHOUT ROWID;
CREATE INDEX audit_asks ON audit (asks) WHERE asks IS NOT NULL;

-- How long each chain is, and how it ends: a tail that was cut off is missed.
CREATE TABLE audit_head (
    tenant TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    hash BLOB NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;
