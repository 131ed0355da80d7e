-- add a key: kept once, however often it is added.
INSERT INTO drumline.api_key (id, tenant, digest, spec, created_at, expires_at)
VALUES (
    :id::uuid, :tenant::text, :digest::bytea, :spec::text,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), :expires_at::int8
)
ON CONFLICT (id) DO NOTHING
RETURNING id
