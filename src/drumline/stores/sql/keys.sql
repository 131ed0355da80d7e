-- name: add_key
-- add a key: kept once, however often it is added.
INSERT INTO drumline.api_key (id, tenant, digest, spec, created_at, expires_at)
VALUES (
    :id::uuid, :tenant::text, :digest::bytea, :spec::text,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), :expires_at::int8
)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: get_key
-- get a key: by its id; a :tenant of NULL is every tenant's.
SELECT k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses
FROM drumline.api_key AS k
WHERE k.id = :id::uuid AND (:tenant::text IS NULL OR k.tenant = :tenant)

-- name: find_keys
-- find keys: those behind digests.
SELECT k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses
FROM drumline.api_key AS k
WHERE k.digest = any(:digests::bytea [])

-- name: list_keys
-- list keys: newest first, below :before.
SELECT k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses
FROM drumline.api_key AS k
WHERE (:tenant::text IS NULL OR k.tenant = :tenant) AND (:before::uuid IS NULL OR k.id < :before)
ORDER BY k.id DESC
LIMIT :limit::int4

-- name: change_key
-- change a key: what is NULL stays.
UPDATE drumline.api_key
SET is_enabled = coalesce(:is_enabled::bool, is_enabled), revoked_at = coalesce(revoked_at, :revoked_at::int8)
WHERE id = :id::uuid

-- name: expire_key
-- rotate a key: the old one opens no longer than until :expires_at.
UPDATE drumline.api_key
SET expires_at = least(coalesce(expires_at, :expires_at::int8), :expires_at)
WHERE id = :id::uuid

-- name: lock_key
-- change or rotate a key: where it stands, locked until that is done.
SELECT
    k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.api_key AS k
WHERE k.id = :id::uuid AND (:tenant::text IS NULL OR k.tenant = :tenant)
FOR UPDATE

-- name: note_uses
-- note uses: add to how often keys were used, and when last.
--   :keys, :counts, :times  lists of equal length; rows are locked in the order of ids, as by every server
WITH locked AS MATERIALIZED (
    SELECT k.id FROM drumline.api_key AS k WHERE k.id = any(:keys::uuid []) ORDER BY k.id FOR UPDATE
)

UPDATE drumline.api_key AS k
SET uses = k.uses + given.count, last_used_at = greatest(k.last_used_at, given.at)
FROM unnest(:keys::uuid [], :counts::int8 [], :times::int8 []) AS given (id, count, at)
WHERE k.id = given.id AND k.id = any(ARRAY(SELECT locked.id FROM locked))
