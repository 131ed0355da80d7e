-- migrate: make the role of tenants in this database, and give it its rights. Whether that was allowed, wall.sql tells.
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
        ' drumline.signing_secret, drumline.schedule, drumline.schedule_live, drumline.schedule_run TO %I',
        wall
    );
    EXECUTE format('GRANT UPDATE ON drumline.delivery, drumline.bulk, drumline.api_key TO %I', wall);
    EXECUTE format('GRANT INSERT ON drumline.outbox, drumline.limit_key, drumline.api_key TO %I', wall);
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE NOTICE 'no second wall around tenants: %', sqlerrm;
END
$$
