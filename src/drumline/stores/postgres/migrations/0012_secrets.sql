-- Tenants' secrets (major 1), sealed: the key is not in the database. `key_id` names it, for keys are changed.
CREATE TABLE drumline.secret (
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    version int4 NOT NULL DEFAULT 1,
    tenant text NOT NULL,
    name text NOT NULL,
    key_id text NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (tenant, name)
);
