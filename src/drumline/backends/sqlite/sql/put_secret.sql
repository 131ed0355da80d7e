-- put a secret: a new one has version 1, of one that was there the value is replaced.
INSERT INTO secret (tenant, name, key_id, sealed, created_at, updated_at)
VALUES (:tenant, :name, :key_id, :sealed, :now, :now)
ON CONFLICT (tenant, name) DO UPDATE
SET key_id = excluded.key_id, sealed = excluded.sealed, updated_at = excluded.updated_at, version = version + 1
RETURNING tenant, name, version, key_id, created_at, updated_at
