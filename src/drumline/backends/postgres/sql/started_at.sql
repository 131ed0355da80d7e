-- settle: when running tasks were started.
SELECT live.id::text, live.started_at FROM drumline.task_live AS live WHERE live.id = any(:ids::uuid [])
