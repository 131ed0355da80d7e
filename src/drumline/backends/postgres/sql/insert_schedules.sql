-- add schedules: what was asked for; a name that its tenant has given already is left as it is.
-- Waits for a concurrent one of the same name. They come sorted by name, so that no two can wait for each other.
-- GIVES those that were new
INSERT INTO drumline.schedule (id, tenant, name, rule, policy, target, app, module, created_at)
SELECT
    g.id, g.tenant, g.name, g.rule, g.policy, g.target, g.app, g.module,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
FROM
    unnest(
        :ids::uuid [], :tenants::text [], :names::text [], :rules::text [], :policies::text [], :targets::text [],
        :apps::text [], :modules::text []
    ) AS g (id, tenant, name, rule, policy, target, app, module)
ON CONFLICT DO NOTHING
RETURNING id
