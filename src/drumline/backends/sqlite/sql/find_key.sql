-- find keys: the one behind a digest.
SELECT id, tenant, digest, spec, created_at, expires_at, revoked_at, last_used_at, is_enabled, uses
FROM api_key
WHERE digest = :digest
