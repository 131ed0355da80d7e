-- get a key: by its id; a :tenant of NULL is every tenant's.
SELECT k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses
FROM drumline.api_key AS k
WHERE k.id = :id::uuid AND (:tenant::text IS NULL OR k.tenant = :tenant)
