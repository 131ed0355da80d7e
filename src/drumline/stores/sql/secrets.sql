-- name: put_secret
-- put a secret: a new one has version 1, of one that was there the value is replaced.
INSERT INTO drumline.secret AS s (tenant, name, key_id, sealed, created_at, updated_at)
SELECT
    :tenant::text, :name::text, :key_id::text, :sealed::bytea,
    t.now, t.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE true
ON CONFLICT (tenant, name) DO UPDATE
SET key_id = excluded.key_id, sealed = excluded.sealed, updated_at = excluded.updated_at, version = s.version + 1
RETURNING tenant, name, version, key_id, created_at, updated_at


-- name: find_secrets
-- find secrets: those of a tenant, by name.
SELECT s.tenant, s.name, s.key_id, s.sealed FROM drumline.secret AS s
WHERE s.tenant = :tenant::text AND s.name = any(:names::text [])

-- name: list_secrets
-- list secrets: by tenant and name, above the pair :after_tenant, :after_name.
SELECT s.tenant, s.name, s.version, s.key_id, s.created_at, s.updated_at FROM drumline.secret AS s
WHERE
    (:tenant::text IS NULL OR s.tenant = :tenant)
    AND (:after_tenant::text IS NULL OR (s.tenant, s.name) > (:after_tenant, :after_name::text))
ORDER BY s.tenant, s.name
LIMIT :limit::int4

-- name: count_secrets
-- count secrets: how many a tenant has.
SELECT count(*) FROM drumline.secret AS s WHERE s.tenant = :tenant::text

-- name: delete_secret
-- delete a secret: its name comes back if there was one.
DELETE FROM drumline.secret AS s WHERE s.tenant = :tenant::text AND s.name = :name::text RETURNING name


-- name: sealed_otherwise
-- sealed otherwise: secrets that are not sealed with a key, by tenant and name, above :after_tenant, :after_name.
SELECT s.tenant, s.name, s.key_id, s.sealed FROM drumline.secret AS s
WHERE
    s.key_id <> :key_id::text
    AND (:after_tenant::text IS NULL OR (s.tenant, s.name) > (:after_tenant, :after_name::text))
ORDER BY s.tenant, s.name
LIMIT :limit::int4

-- name: reseal_secrets
-- reseal secrets: replace sealed values that still are the old ones; the values in them are the same.
--   all lists are of equal length; rows are locked in the order of their keys
WITH locked AS MATERIALIZED (
    SELECT s.tenant, s.name FROM drumline.secret AS s
    WHERE (s.tenant, s.name) IN (SELECT a.tenant, a.name FROM unnest(:tenants::text [], :names::text []) AS a (tenant, name))
    ORDER BY s.tenant, s.name
    FOR UPDATE
)

UPDATE drumline.secret AS s
SET sealed = given.sealed, key_id = given.key_id
FROM
    unnest(:tenants::text [], :names::text [], :olds::bytea [], :sealed::bytea [], :key_ids::text [])
        AS given (tenant, name, old, sealed, key_id)
WHERE
    s.tenant = given.tenant AND s.name = given.name AND s.sealed = given.old
    AND EXISTS (SELECT 1 FROM locked AS l WHERE l.tenant = s.tenant AND l.name = s.name)
RETURNING s.name
