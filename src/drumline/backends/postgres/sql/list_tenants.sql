-- list tenants: by name, above :after.
SELECT t.name, t.created_at, t.queued, t.payload_bytes, t.schedules, t.weight
FROM drumline.tenant AS t
WHERE :after::text IS NULL OR t.name > :after
ORDER BY t.name
LIMIT :limit::int4
