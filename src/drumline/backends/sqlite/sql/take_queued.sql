-- start runs: the run that waited is the previous one now.
UPDATE schedule_live
SET waiting = max(waiting - 1, 0), last_fire_time = :fire_time, last_task = :task, last_job = :job
WHERE id = :schedule
