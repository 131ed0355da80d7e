-- start runs: runs that waited are the previous ones now. The schedules are locked.
UPDATE drumline.schedule_live AS live
SET waiting = greatest(live.waiting - 1, 0), last_fire_time = g.fire_time, last_task = g.task, last_job = g.job
FROM
    unnest(:schedules::uuid [], :fire_times::int8 [], :tasks::uuid [], :jobs::uuid []) AS g (schedule, fire_time, task, job)
WHERE live.id = g.schedule
