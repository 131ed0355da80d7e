-- name: insert_runs_alike
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

-- name: runs_of_tasks
-- fire: which of some runs for one fire time came about.
--   :batch  JSON object: the task by its schedule
SELECT run.schedule_id
FROM json_each(:batch) AS given
CROSS JOIN schedule_run AS run ON given.key = run.schedule_id
WHERE run.fire_time = :fire_time AND run.task_id = given.value

-- name: advance_alike
-- fire: the next fire time of schedules that have it and the last one in common, of which one run has started, which
-- makes a task, and nothing else happened. Reading JSON costs as much as the rest of it, so there is little of it.
--   :batch  JSON object: the task by its schedule
UPDATE schedule_live
SET
    fire_at = :fire_at,
    due_at = :fire_at,
    runs = runs + 1,
    last_fire_time = :last_fire_time,
    last_task = given.value,
    last_job = NULL
FROM json_each(:batch) AS given
WHERE schedule_live.id = given.key
