-- name: find_types
-- find types: by tenant and name, own ones and those of everybody. A former schema counts for a day.
SELECT
    t.tenant,
    t.name,
    t.defaults,
    t.schema,
    CASE WHEN t.changed_at > clock.now - 86400000 THEN t.former_schema END
FROM
    unnest(:tenants::text [], :names::text []) AS wanted (tenant, name)
INNER JOIN drumline.task_type AS t ON t.name = wanted.name AND t.tenant IN (wanted.tenant, '')
CROSS JOIN (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock

-- name: publish_types
-- publish types: keep what a worker declares. The last to publish a type wins; one that says nothing of defaults leaves
-- them as they are. What is the same is written again only now and then, and not locked either: the workers of a fleet
-- that starts would wait for each other's commits.
INSERT INTO drumline.task_type AS kept (changed_at, published_at, tenant, name, defaults, schema)
SELECT clock.now, clock.now, :tenant::text, given.name, given.defaults, given.schema
FROM
    unnest(:names::text [], :defaults::text [], :schemas::text []) AS given (name, defaults, schema),
    (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
WHERE NOT EXISTS (
    SELECT 1
    FROM drumline.task_type AS same
    WHERE
        same.tenant = :tenant
        AND same.name = given.name
        AND same.defaults IS NOT DISTINCT FROM coalesce(given.defaults, same.defaults)
        AND same.schema IS NOT DISTINCT FROM given.schema
        AND same.published_at >= clock.now - 3600000
)
ON CONFLICT (tenant, name) DO UPDATE SET
defaults = coalesce(excluded.defaults, kept.defaults),
former_schema = CASE
    WHEN kept.schema IS DISTINCT FROM excluded.schema THEN kept.schema
    ELSE kept.former_schema
END,
changed_at = CASE
    WHEN kept.schema IS DISTINCT FROM excluded.schema THEN excluded.changed_at
    ELSE kept.changed_at
END,
schema = excluded.schema,
published_at = excluded.published_at
WHERE
    kept.defaults IS DISTINCT FROM coalesce(excluded.defaults, kept.defaults)
    OR kept.schema IS DISTINCT FROM excluded.schema
    OR kept.published_at < excluded.published_at - 3600000
RETURNING kept.name

-- name: trim_types
-- trim types: those of a tenant beyond so many, published longest ago.
DELETE FROM drumline.task_type AS gone
WHERE gone.tenant = :tenant::text AND gone.name IN (
    SELECT t.name
    FROM drumline.task_type AS t
    WHERE t.tenant = :tenant
    ORDER BY t.published_at DESC, t.name ASC
    LIMIT 1000000 OFFSET :most::int4
)
