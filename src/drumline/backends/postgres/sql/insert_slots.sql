-- claim, set a limit: note what was started under limits.
INSERT INTO drumline.slot (limit_id, limit_key, task_id, epoch, started_at)
SELECT g.limit_id, g.limit_key, g.task_id, g.epoch, g.started_at
FROM unnest(:limits::int4 [], :keys::int4 [], :tasks::uuid [], :epochs::int4 [], :started_at::int8 [])
    AS g (limit_id, limit_key, task_id, epoch, started_at)
ON CONFLICT DO NOTHING
