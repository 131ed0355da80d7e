-- set a limit: keep it, in place of one of the same name.
INSERT INTO flow_limit (tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at)
VALUES (:tenant, :name, :queue, :task, :keyed_by, :max_concurrent, :rate, :period_ms, :now)
ON CONFLICT (tenant, name) DO UPDATE SET
queue = excluded.queue,
task = excluded.task,
keyed_by = excluded.keyed_by,
max_concurrent = excluded.max_concurrent,
rate = excluded.rate,
period_ms = excluded.period_ms
