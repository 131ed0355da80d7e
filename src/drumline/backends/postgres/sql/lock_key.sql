-- change or rotate a key: where it stands, locked until that is done.
SELECT
    k.id, k.tenant, k.digest, k.spec, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.is_enabled, k.uses,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.api_key AS k
WHERE k.id = :id::uuid AND (:tenant::text IS NULL OR k.tenant = :tenant)
FOR UPDATE
