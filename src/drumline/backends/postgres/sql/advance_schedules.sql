-- fire: the next fire times, and what was counted. The schedules are locked.
UPDATE drumline.schedule_live AS live
SET
    fire_at = g.fire_at,
    due_at = g.due_at,
    state = CASE WHEN g.is_finished THEN 2 ELSE live.state END,
    runs = live.runs + g.runs,
    skipped = live.skipped + g.skipped,
    missed = live.missed + g.missed,
    waiting = live.waiting + g.waiting,
    last_fire_time = coalesce(g.last_fire_time, live.last_fire_time),
    last_task = CASE WHEN g.last_fire_time IS NULL THEN live.last_task ELSE g.last_task END,
    last_job = CASE WHEN g.last_fire_time IS NULL THEN live.last_job ELSE g.last_job END
FROM
    unnest(
        :ids::uuid [], :fire_at::int8 [], :due_at::int8 [], :finished::bool [], :runs::int8 [], :skipped::int8 [],
        :missed::int8 [], :waiting::int4 [], :last_fire_times::int8 [], :last_tasks::uuid [], :last_jobs::uuid []
    ) AS g (
        id, fire_at, due_at, is_finished, runs, skipped, missed, waiting, last_fire_time, last_task, last_job
    )
WHERE live.id = g.id
