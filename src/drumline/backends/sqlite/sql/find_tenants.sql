-- find tenants: by name.
SELECT name, created_at, queued, payload_bytes, schedules, weight
FROM tenant
WHERE name IN (SELECT value FROM json_each(:names))
