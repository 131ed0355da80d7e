-- limits: those of a tenant, or all.
SELECT id, tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at
FROM flow_limit
WHERE :tenant IS NULL OR tenant = :tenant
ORDER BY tenant, name
