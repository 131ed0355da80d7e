-- examine: the server's version, what it is, and how many connections it has.
SELECT
    current_setting('server_version_num')::int4 AS version,
    pg_is_in_recovery() AS is_standby,
    (SELECT count(*)::int4 FROM pg_stat_activity AS a WHERE a.backend_type = 'client backend') AS connections,
    to_regclass('drumline.migration') IS NOT NULL AS has_schema
