-- The second wall (major 1): whoever looks at a tenant's things as the role of tenants is shown that tenant's rows only,
-- whatever the statement says. No tenant set means no rows.
--
-- The policies name no role, so that a copy of the database can be put anywhere: they hold for every role whose name
-- begins with drumline_tenant, and let all others pass. They do not hold for the owner of the tables: hot statements
-- join many tenants, and pay nothing. The role and its rights are made by sql/build_wall.sql.
--
-- A new table with rows of tenants needs a policy like these; what has none, the role of tenants cannot read at all.
DO $$
DECLARE
    wall record;
BEGIN
    FOR wall IN
        SELECT * FROM (VALUES
            -- whose rows say whose they are
            ('lane', 'tenant = :own'),
            ('idempotency', 'tenant = :own'),
            ('queue_pause', 'tenant = :own'),
            ('job', 'tenant = :own'),
            ('schedule', 'tenant = :own'),
            ('bulk', 'tenant = :own'),
            ('subscription', 'tenant = :own'),
            ('signing_secret', 'tenant = :own'),
            ('delivery', 'tenant = :own'),
            ('mailbox', 'tenant = :own'),
            ('tenant', 'name = :own'),
            ('api_key', 'tenant = :own'),
            ('audit', 'tenant = :own'),
            ('audit_head', 'tenant = :own'),
            ('flow_limit', 'tenant = :own'),
            ('limit_key', 'tenant = :own'),
            ('secret', 'tenant = :own'),
            -- workers of the tenant, and those that serve everybody
            ('session', 'coalesce((spec::json -> ''tenant'')::text, to_json(:own)::text) = to_json(:own)::text'),
            -- whose rows belong to a lane
            ('task', 'drumline.lane AS whose WHERE whose.id = task.lane'),
            ('task_live', 'drumline.lane AS whose WHERE whose.id = task_live.lane'),
            ('attempt', 'drumline.lane AS whose WHERE whose.id = attempt.lane'),
            ('cause', 'drumline.lane AS whose WHERE whose.id = cause.lane'),
            ('stat', 'lane IN (SELECT whose.id FROM drumline.lane AS whose)'), -- many rows at a time, and never by a key
            -- to a task
            ('task_log', 'drumline.task AS whose WHERE whose.id = task_log.task_id'),
            ('artifact', 'drumline.task AS whose WHERE whose.id = artifact.task_id'),
            ('progress', 'drumline.task AS whose WHERE whose.id = progress.task_id'),
            ('payload_edit', 'drumline.task AS whose WHERE whose.id = payload_edit.task_id'),
            ('dead_letter', 'drumline.task AS whose WHERE whose.id = dead_letter.task_id'),
            ('task_edge', 'drumline.task AS whose WHERE whose.id = task_edge.child'),
            -- to a job, a schedule, a bulk operation, a limit
            ('job_task', 'drumline.job AS whose WHERE whose.id = job_task.job_id'),
            ('job_dep', 'drumline.job AS whose WHERE whose.id = job_dep.job_id'),
            ('schedule_live', 'drumline.schedule AS whose WHERE whose.id = schedule_live.id'),
            ('schedule_run', 'drumline.schedule AS whose WHERE whose.id = schedule_run.schedule_id'),
            ('bulk_item', 'drumline.bulk AS whose WHERE whose.id = bulk_item.bulk_id'),
            ('slot', 'drumline.flow_limit AS whose WHERE whose.id = slot.limit_id')
        ) AS walls (name, own)
    LOOP
        EXECUTE format(
            'CREATE POLICY wall ON drumline.%I USING (current_user NOT LIKE ''drumline\_tenant%%'' OR %s)',
            wall.name,
            CASE
                -- OFFSET 0: looked up for each row by its key, never by reading the other table as a whole
                WHEN wall.own LIKE 'drumline.%' THEN format('EXISTS (SELECT FROM %s OFFSET 0)', wall.own)
                ELSE replace(wall.own, ':own', 'nullif(current_setting(''drumline.tenant'', true), '''')')
            END
        );
        EXECUTE format('ALTER TABLE drumline.%I ENABLE ROW LEVEL SECURITY', wall.name);
    END LOOP;
END
$$;
