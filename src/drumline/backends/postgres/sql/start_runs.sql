-- start runs: runs have started, or could not. They are there, and locked by themselves or with their schedules: saying
-- it as an insertion that conflicts finds each by its key, whatever the planner thinks of the table.
INSERT INTO drumline.schedule_run AS run (schedule_id, fire_time, kind, state, created_at, task_id, job_id, reason)
SELECT
    g.schedule, g.fire_time, g.kind, g.state, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    g.task, g.job, g.reason
FROM
    unnest(
        :schedules::uuid [], :fire_times::int8 [], :kinds::int2 [], :states::int2 [], :tasks::uuid [], :jobs::uuid [],
        :reasons::text []
    ) AS g (schedule, fire_time, kind, state, task, job, reason)
ON CONFLICT (schedule_id, fire_time) DO UPDATE
SET
    state = excluded.state,
    created_at = excluded.created_at,
    task_id = excluded.task_id,
    job_id = excluded.job_id,
    reason = excluded.reason
