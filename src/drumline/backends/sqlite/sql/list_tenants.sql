-- list tenants: by name, above :after.
SELECT name, created_at, queued, payload_bytes, schedules, weight
FROM tenant
WHERE :after IS NULL OR name > :after
ORDER BY name
LIMIT :limit
