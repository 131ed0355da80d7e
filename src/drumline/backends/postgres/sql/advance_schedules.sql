-- fire: the next fire times, and what was counted. The schedules are locked.
--   :ids …  arrays of equal length, sorted by id. Each row finds its place by itself: a join could be planned to read
--           the whole table for each of them, as long as that is small.
UPDATE drumline.schedule_live AS live
SET
    fire_at = (:fire_at::int8 [])[width_bucket(live.id, :ids::uuid [])],
    due_at = (:due_at::int8 [])[width_bucket(live.id, :ids)],
    state = CASE WHEN (:finished::bool [])[width_bucket(live.id, :ids)] THEN 2 ELSE live.state END,
    runs = live.runs + (:runs::int8 [])[width_bucket(live.id, :ids)],
    skipped = live.skipped + (:skipped::int8 [])[width_bucket(live.id, :ids)],
    missed = live.missed + (:missed::int8 [])[width_bucket(live.id, :ids)],
    waiting = live.waiting + (:waiting::int4 [])[width_bucket(live.id, :ids)],
    last_fire_time = coalesce((:last_fire_times::int8 [])[width_bucket(live.id, :ids)], live.last_fire_time),
    last_task = CASE
        WHEN (:last_fire_times)[width_bucket(live.id, :ids)] IS NULL THEN live.last_task
        ELSE (:last_tasks::uuid [])[width_bucket(live.id, :ids)]
    END,
    last_job = CASE
        WHEN (:last_fire_times)[width_bucket(live.id, :ids)] IS NULL THEN live.last_job
        ELSE (:last_jobs::uuid [])[width_bucket(live.id, :ids)]
    END
WHERE live.id = any(:ids)
