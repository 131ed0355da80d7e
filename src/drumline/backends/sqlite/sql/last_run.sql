-- add runs: a run that was asked for is the previous one now.
UPDATE schedule_live SET last_fire_time = :fire_time, last_task = :task, last_job = :job WHERE id = :schedule
