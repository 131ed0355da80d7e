-- Who may come in, whose things are whose, and who did what (major 1).

-- The tenant `default` is there even without a row.
CREATE TABLE drumline.tenant (
    name text PRIMARY KEY,
    created_at int8 NOT NULL,
    queued int8, -- quotas; NULL means as much as it likes
    payload_bytes int8,
    schedules int8
);

-- Only the digest of a key is kept. A tenant of NULL is every tenant's.
CREATE TABLE drumline.api_key (
    id uuid PRIMARY KEY,
    created_at int8 NOT NULL,
    expires_at int8,
    revoked_at int8,
    last_used_at int8,
    uses int8 NOT NULL DEFAULT 0,
    is_enabled bool NOT NULL DEFAULT true,
    digest bytea NOT NULL UNIQUE,
    tenant text,
    spec text NOT NULL
) WITH (fillfactor = 50);

-- The chains of the audit log, one for each tenant. `text` is what the hash covers, with the hash of the row before.
CREATE TABLE drumline.audit (
    id uuid NOT NULL UNIQUE,
    asks uuid, -- for the second row of an act: the id of the first
    seq int8 NOT NULL,
    tenant text NOT NULL,
    hash bytea NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant, seq)
);
CREATE INDEX audit_asks ON drumline.audit (asks) WHERE asks IS NOT NULL;

-- How long each chain is, and how it ends: a tail that was cut off is missed. Whoever appends locks its row.
CREATE TABLE drumline.audit_head (
    tenant text PRIMARY KEY,
    count int8 NOT NULL,
    hash bytea NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION drumline.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only ever added to';
END
$$;

CREATE TRIGGER audit_is_only_added_to
BEFORE UPDATE OR DELETE ON drumline.audit
FOR EACH ROW EXECUTE FUNCTION drumline.refuse_change();
