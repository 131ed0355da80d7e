-- find keys: those behind digests.
SELECT k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses
FROM drumline.api_key AS k
WHERE k.digest = any(:digests::bytea [])
