-- fire: the next fire time of schedules that have it and the last one in common, of which one run has started, which
-- makes a task, and nothing else happened. Every look into JSON costs as much as the rest of it, so as little as can be is in it.
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
