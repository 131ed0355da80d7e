-- examine: how the hot tables are kept.
SELECT
    c.relname::text AS name,
    coalesce(s.n_live_tup, 0)::int8 AS live,
    coalesce(s.n_dead_tup, 0)::int8 AS dead,
    NOT coalesce('autovacuum_enabled=false' = any(c.reloptions), false)
        AND NOT coalesce('autovacuum_enabled=off' = any(c.reloptions), false) AS is_vacuumed
FROM pg_class AS c
LEFT JOIN pg_stat_user_tables AS s ON s.relid = c.oid
WHERE
    c.relnamespace = 'drumline'::regnamespace AND c.relkind = 'r'
    AND c.relname IN ('task', 'task_live', 'attempt', 'outbox', 'session', 'job_live', 'schedule_live', 'delivery')
ORDER BY c.relname
