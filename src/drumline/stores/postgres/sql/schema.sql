-- name: wall
-- look from within the wall: the role of tenants in this database, and what keeps us from acting as it.
-- GIVES its name, and NULL if all is in place
SELECT
    wall.role,
    CASE
        WHEN
            NOT coalesce((SELECT c.relrowsecurity FROM pg_class AS c WHERE c.oid = to_regclass('drumline.task')), false)
            THEN 'the tables have no policies yet'
        WHEN r.oid IS NULL THEN 'there is no role ' || wall.role
        WHEN r.rolsuper OR r.rolbypassrls THEN 'the role ' || wall.role || ' passes over every policy'
        WHEN
            NOT pg_has_role(r.oid, CASE WHEN current_setting('server_version_num')::int4 < 160000 THEN 'MEMBER' ELSE 'SET' END)
            THEN 'the user ' || current_user || ' may not act as ' || wall.role
        WHEN
            EXISTS (
                SELECT FROM pg_class AS c
                WHERE
                    c.relnamespace = to_regnamespace('drumline')
                    AND c.relkind = 'r'
                    AND c.relrowsecurity
                    AND NOT has_table_privilege(r.oid, c.oid, 'SELECT')
            )
            THEN 'the role ' || wall.role || ' may not read all tables'
    END AS missing
FROM (
    SELECT
        'drumline_tenant_' || CASE
            WHEN octet_length(current_database()) <= 47 THEN current_database() ELSE md5(current_database())
        END AS role
) AS wall
LEFT JOIN pg_roles AS r ON wall.role = r.rolname

-- name: examine_server
-- examine: the server's version, what it is, and how many connections it has.
SELECT
    current_setting('server_version_num')::int4 AS version,
    pg_is_in_recovery() AS is_standby,
    (SELECT count(*)::int4 FROM pg_stat_activity AS a WHERE a.backend_type = 'client backend') AS connections,
    to_regclass('drumline.migration') IS NOT NULL AS has_schema

-- name: has_schema
-- open: whether the database was ever migrated.
SELECT to_regclass('drumline.migration') IS NOT NULL AS has_schema

-- name: schema_version
-- migrate: the migrations that were applied, newest first, and the newest major.
SELECT m.number, max(m.major) OVER () AS major FROM drumline.migration AS m ORDER BY m.number DESC

-- name: examine_tables
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

-- name: examine_settings
-- examine: the settings that durability and speed hang on, as the server itself has them, not this connection.
SELECT s.name, coalesce(s.reset_val, s.setting) AS setting
FROM pg_settings AS s
WHERE
    s.name IN (
        'fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts', 'max_connections',
        'superuser_reserved_connections', 'server_encoding', 'statement_timeout', 'default_transaction_read_only'
    )

-- name: examine_transactions
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

-- name: lock_schema
-- migrate: wait until no other migration is under way, until the end of the transaction.
SELECT pg_advisory_xact_lock(:key::int8)

-- name: create_schema
-- migrate: everything of ours is in a schema of its own.
CREATE SCHEMA IF NOT EXISTS drumline

-- name: create_migration
-- migrate: which migrations were applied.
CREATE TABLE IF NOT EXISTS drumline.migration (
    number int4 PRIMARY KEY,
    major int4 NOT NULL,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)

-- name: note_migration
-- migrate: note that a migration was applied.
INSERT INTO drumline.migration (number, major, name) VALUES (:number::int4, :major::int4, :name::text)

-- name: build_wall
-- migrate: make the role of tenants in this database, and give it its rights. Whether that was allowed, wall tells.
-- It may read what has policies, and change what acts of one tenant change by themselves.
DO $$
DECLARE
    wall text := 'drumline_tenant_' || CASE
        WHEN octet_length(current_database()) <= 47 THEN current_database() ELSE md5(current_database())
    END;
    each_table regclass;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wall) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', wall);
    END IF;
    IF NOT pg_has_role(wall, CASE WHEN current_setting('server_version_num')::int4 < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
        EXECUTE format('GRANT %I TO CURRENT_USER', wall);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA drumline TO %I', wall);
    FOR each_table IN
        SELECT oid FROM pg_class WHERE relnamespace = 'drumline'::regnamespace AND relkind = 'r' AND relrowsecurity
    LOOP
        EXECUTE format('GRANT SELECT ON %s TO %I', each_table, wall);
    END LOOP;
    EXECUTE format(
        'GRANT INSERT, UPDATE, DELETE ON drumline.queue_pause, drumline.secret, drumline.subscription,'
        ' drumline.signing_secret, drumline.schedule, drumline.schedule_live, drumline.schedule_run, drumline.failure_triage,'
        ' drumline.saved_view, drumline.alert_rule, drumline.alert_incident, drumline.slo, drumline.slo_hour TO %I',
        wall
    );
    EXECUTE format('GRANT UPDATE ON drumline.delivery, drumline.bulk, drumline.api_key TO %I', wall);
    EXECUTE format('GRANT INSERT ON drumline.outbox, drumline.limit_key, drumline.api_key TO %I', wall);
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE NOTICE 'no second wall around tenants: %', sqlerrm;
END
$$

-- name: notify
-- push: tell other processes which queues have new tasks. It need not survive a crash, so no disk is waited for.
SELECT set_config('synchronous_commit', 'off', true), pg_notify(:channel::text, :message::text)

-- name: enter_wall
-- look from within the wall: from now on this connection, which acts as the role of tenants, is one tenant's.
SELECT set_config('drumline.tenant', :tenant::text, false)

-- name: notify_stored
-- submit or settle in a caller's transaction: notify several channels when it commits, and not at all if it is rolled back.
SELECT pg_notify(g.channel, g.message)
FROM unnest(:channels::text [], :messages::text []) AS g (channel, message)
