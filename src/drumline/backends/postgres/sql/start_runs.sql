-- start runs: runs have started, or could not.
UPDATE drumline.schedule_run AS run
SET
    state = g.state,
    created_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    task_id = g.task,
    job_id = g.job,
    reason = g.reason
FROM
    unnest(
        :schedules::uuid [], :fire_times::int8 [], :states::int2 [], :tasks::uuid [], :jobs::uuid [], :reasons::text []
    ) AS g (schedule, fire_time, state, task, job, reason)
WHERE run.schedule_id = g.schedule AND run.fire_time = g.fire_time
