-- add a key: kept once, however often it is added.
INSERT INTO api_key (id, tenant, digest, spec, created_at, expires_at)
VALUES (:id, :tenant, :digest, :spec, :now, :expires_at)
ON CONFLICT (id) DO NOTHING
