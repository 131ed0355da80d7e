-- examine: transactions that have been open for longer than half a minute; the oldest first.
SELECT
    a.pid,
    coalesce(nullif(a.application_name, ''), a.usename, '') AS program,
    coalesce(a.state, '') AS state,
    extract(EPOCH FROM clock_timestamp() - a.xact_start)::float8 AS seconds
FROM pg_stat_activity AS a
WHERE
    a.xact_start < clock_timestamp() - interval '30 seconds' AND a.pid <> pg_backend_pid()
    AND a.backend_type = 'client backend'
ORDER BY a.xact_start
LIMIT 10
