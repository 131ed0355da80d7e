-- find types: by tenant and name, own ones and those of everybody. A former schema counts for a day.
SELECT
    t.tenant,
    t.name,
    t.defaults,
    t.schema,
    CASE WHEN t.changed_at > :now - 86400000 THEN t.former_schema END
FROM json_each(:wanted) AS wanted
INNER JOIN task_type AS t ON t.name = wanted.value ->> 1 AND t.tenant IN (wanted.value ->> 0, '')
