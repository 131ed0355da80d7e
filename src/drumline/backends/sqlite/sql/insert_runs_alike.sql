-- fire: one row per firing for one fire time, of schedules of which each starts a task, as it was planned. A fire time
-- that has a run keeps it.
--   :batch  JSON object: the task by its schedule
INSERT INTO schedule_run (schedule_id, fire_time, kind, state, created_at, task_id)
SELECT
    given.key,
    :fire_time,
    0,
    0,
    :now,
    given.value
FROM json_each(:batch) AS given
WHERE true
ON CONFLICT (schedule_id, fire_time) DO NOTHING
