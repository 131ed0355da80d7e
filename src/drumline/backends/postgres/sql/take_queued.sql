-- start runs: runs that waited are the previous ones now. The schedules are locked.
--   :schedules …  arrays of equal length, sorted by schedule, each once; as in advance_schedules.sql
UPDATE drumline.schedule_live AS live
SET
    waiting = greatest(live.waiting - 1, 0),
    last_fire_time = (:fire_times::int8 [])[width_bucket(live.id, :schedules::uuid [])],
    last_task = (:tasks::uuid [])[width_bucket(live.id, :schedules)],
    last_job = (:jobs::uuid [])[width_bucket(live.id, :schedules)]
WHERE live.id = any(:schedules)
