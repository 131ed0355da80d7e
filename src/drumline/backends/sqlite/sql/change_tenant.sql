-- change a tenant: other quotas.
UPDATE tenant
SET queued = :queued, payload_bytes = :payload_bytes, schedules = :schedules, weight = :weight
WHERE name = :name
