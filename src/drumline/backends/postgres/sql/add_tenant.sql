-- add a tenant: nothing comes back if there is one of that name.
INSERT INTO drumline.tenant (name, created_at, queued, payload_bytes, schedules, weight)
VALUES (
    :name::text, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    :queued::int8, :payload_bytes::int8, :schedules::int8, :weight::int4
)
ON CONFLICT (name) DO NOTHING
RETURNING name, created_at, queued, payload_bytes, schedules, weight
