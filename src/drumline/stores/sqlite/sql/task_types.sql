-- name: find_types
-- find types: by tenant and name, own ones and those of everybody. A former schema counts for a day.
SELECT
    t.tenant,
    t.name,
    t.defaults,
    t.schema,
    CASE WHEN t.changed_at > :now - 86400000 THEN t.former_schema END
FROM json_each(:wanted) AS wanted
INNER JOIN task_type AS t ON t.name = wanted.value ->> 1 AND t.tenant IN (wanted.value ->> 0, '')

-- name: publish_types
-- publish types: keep what a worker declares. The last to publish a type wins; one that says nothing of defaults leaves
-- them as they are. What is the same is written again only now and then.
INSERT INTO task_type (tenant, name, defaults, schema, changed_at, published_at)
SELECT
    :tenant,
    value ->> 0,
    value ->> 1,
    value ->> 2,
    :now,
    :now
FROM json_each(:batch)
WHERE true
ON CONFLICT (tenant, name) DO UPDATE SET
defaults = coalesce(excluded.defaults, task_type.defaults),
former_schema = CASE
    WHEN task_type.schema IS NOT excluded.schema THEN task_type.schema
    ELSE task_type.former_schema
END,
changed_at = CASE
    WHEN task_type.schema IS NOT excluded.schema THEN excluded.changed_at
    ELSE task_type.changed_at
END,
schema = excluded.schema,
published_at = excluded.published_at
WHERE
    task_type.defaults IS NOT coalesce(excluded.defaults, task_type.defaults)
    OR task_type.schema IS NOT excluded.schema
    OR task_type.published_at < excluded.published_at - 3600000

-- name: trim_types
-- trim types: those of a tenant beyond so many, published longest ago.
DELETE FROM task_type
WHERE tenant = :tenant AND name IN (
    SELECT name
    FROM task_type
    WHERE tenant = :tenant
    ORDER BY published_at DESC, name ASC
    LIMIT -1 OFFSET :most
)
