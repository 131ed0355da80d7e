-- find tenants: by name.
SELECT t.name, t.created_at, t.queued, t.payload_bytes, t.schedules, t.weight
FROM drumline.tenant AS t
WHERE t.name = any(:names::text [])
