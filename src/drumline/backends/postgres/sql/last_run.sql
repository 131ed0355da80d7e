-- add runs: a run that was asked for is the previous one now. The schedule is locked.
UPDATE drumline.schedule_live
SET last_fire_time = :fire_time::int8, last_task = :task::uuid, last_job = :job::uuid
WHERE id = :schedule::uuid
