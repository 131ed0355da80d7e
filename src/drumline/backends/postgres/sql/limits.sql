-- limits: those of a tenant, or all.
SELECT f.id, f.tenant, f.name, f.queue, f.task, f.keyed_by, f.max_concurrent, f.rate, f.period_ms, f.created_at
FROM drumline.flow_limit AS f
WHERE :tenant::text IS NULL OR f.tenant = :tenant
ORDER BY f.tenant, f.name
