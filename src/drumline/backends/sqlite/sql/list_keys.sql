-- list keys: newest first, below :before.
SELECT id, tenant, digest, spec, created_at, expires_at, revoked_at, last_used_at, is_enabled, uses
FROM api_key
WHERE (:tenant IS NULL OR tenant = :tenant) AND (:before IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :limit
