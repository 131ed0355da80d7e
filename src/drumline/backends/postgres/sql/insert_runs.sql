-- fire and add runs: one row per firing. A fire time that has a run keeps it, but for one that was skipped.
-- GIVES the runs that came about
INSERT INTO drumline.schedule_run AS run (
    schedule_id, fire_time, kind, state, created_at, start_at, task_id, job_id, reason
)
SELECT
    g.schedule, g.fire_time, g.kind, g.state, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    g.start_at, g.task, g.job, g.reason
FROM
    unnest(
        :schedules::uuid [], :fire_times::int8 [], :kinds::int2 [], :states::int2 [], :start_at::int8 [], :tasks::uuid [],
        :jobs::uuid [], :reasons::text []
    ) AS g (schedule, fire_time, kind, state, start_at, task, job, reason)
ON CONFLICT (schedule_id, fire_time) DO UPDATE
SET
    kind = excluded.kind,
    state = excluded.state,
    created_at = excluded.created_at,
    start_at = excluded.start_at,
    task_id = excluded.task_id,
    job_id = excluded.job_id,
    reason = excluded.reason
WHERE run.state = 2 AND excluded.state <> 2
RETURNING run.schedule_id::text, run.fire_time
