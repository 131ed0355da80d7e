-- fire: the next fire times of schedules of which one run has started, which makes a task, and nothing else happened.
-- Every look into JSON costs as much as the rest of it, so what is the same for all is not in it.
--   :batch  JSON list of [id, fire_at, due_at, last_fire_time, last_task]
UPDATE schedule_live
SET
    fire_at = json_extract(given.value, '$[1]'),
    due_at = json_extract(given.value, '$[2]'),
    runs = runs + 1,
    last_fire_time = json_extract(given.value, '$[3]'),
    last_task = json_extract(given.value, '$[4]'),
    last_job = NULL
FROM json_each(:batch) AS given
WHERE schedule_live.id = json_extract(given.value, '$[0]')
