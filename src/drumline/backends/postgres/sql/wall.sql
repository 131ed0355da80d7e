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
