-- name: add_tenant
-- add a tenant: nothing comes back if there is one of that name.
INSERT INTO drumline.tenant (name, created_at, queued, payload_bytes, schedules, weight)
VALUES (
    :name::text, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    :queued::int8, :payload_bytes::int8, :schedules::int8, :weight::int4
)
ON CONFLICT (name) DO NOTHING
RETURNING name, created_at, queued, payload_bytes, schedules, weight

-- name: find_tenants
-- find tenants: by name.
SELECT t.name, t.created_at, t.queued, t.payload_bytes, t.schedules, t.weight
FROM drumline.tenant AS t
WHERE t.name = any(:names::text [])

-- name: list_tenants
-- list tenants: by name, above :after.
SELECT t.name, t.created_at, t.queued, t.payload_bytes, t.schedules, t.weight
FROM drumline.tenant AS t
WHERE :after::text IS NULL OR t.name > :after
ORDER BY t.name
LIMIT :limit::int4

-- name: change_tenant
-- change a tenant: other quotas.
UPDATE drumline.tenant
SET queued = :queued::int8, payload_bytes = :payload_bytes::int8, schedules = :schedules::int8, weight = :weight::int4
WHERE name = :name::text
RETURNING name, created_at, queued, payload_bytes, schedules, weight

-- name: weights
-- weights: those of the tenants that have one.
SELECT t.name, t.weight FROM drumline.tenant AS t WHERE t.weight IS NOT NULL

-- name: count_queued
-- count queued: tasks of a tenant that wait to be run, no further than :most.
SELECT count(*)
FROM (
    SELECT live.id
    FROM drumline.task_live AS live
    WHERE
        live.lane = any(ARRAY(SELECT lane.id FROM drumline.lane WHERE lane.tenant = :tenant::text))
        AND live.due_at IS NOT NULL
        AND live.state = 1
    LIMIT :most::int8
) AS counted


-- name: count_schedules
-- count schedules: all of a tenant.
SELECT count(*) FROM drumline.schedule AS s WHERE s.tenant = :tenant::text
