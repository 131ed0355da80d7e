-- get a key: by its id; a :tenant of NULL is every tenant's.
SELECT id, tenant, digest, spec, created_at, expires_at, revoked_at, last_used_at, is_enabled, uses
FROM api_key
WHERE id = :id AND (:tenant IS NULL OR tenant = :tenant)
