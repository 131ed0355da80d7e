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
