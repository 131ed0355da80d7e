-- put a secret: a new one has version 1, of one that was there the value is replaced.
INSERT INTO drumline.secret AS s (tenant, name, key_id, sealed, created_at, updated_at)
SELECT
    :tenant::text, :name::text, :key_id::text, :sealed::bytea,
    t.now, t.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
ON CONFLICT (tenant, name) DO UPDATE
SET key_id = excluded.key_id, sealed = excluded.sealed, updated_at = excluded.updated_at, version = s.version + 1
RETURNING s.tenant, s.name, s.version, s.key_id, s.created_at, s.updated_at
