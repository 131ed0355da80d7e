-- change a tenant: other quotas.
UPDATE drumline.tenant
SET queued = :queued::int8, payload_bytes = :payload_bytes::int8, schedules = :schedules::int8, weight = :weight::int4
WHERE name = :name::text
RETURNING name, created_at, queued, payload_bytes, schedules, weight
