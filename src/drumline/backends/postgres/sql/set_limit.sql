-- set a limit: keep it, in place of one of the same name.
INSERT INTO drumline.flow_limit (
    tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at
)
VALUES (
    :tenant::text, :name::text, :queue::text, :task::text, :keyed_by::text, :max_concurrent::int4, :rate::int4,
    :period_ms::int8, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
)
ON CONFLICT (tenant, name) DO UPDATE SET
queue = excluded.queue,
task = excluded.task,
keyed_by = excluded.keyed_by,
max_concurrent = excluded.max_concurrent,
rate = excluded.rate,
period_ms = excluded.period_ms
