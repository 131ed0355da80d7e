-- list keys: newest first, below :before.
SELECT k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses
FROM drumline.api_key AS k
WHERE (:tenant::text IS NULL OR k.tenant = :tenant) AND (:before::uuid IS NULL OR k.id < :before)
ORDER BY k.id DESC
LIMIT :limit::int4
