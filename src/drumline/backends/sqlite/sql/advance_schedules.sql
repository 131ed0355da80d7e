-- fire: the next fire times, and what was counted.
--   :batch  JSON list in the order of backends/schedule_plans.py: Advance
UPDATE schedule_live
SET
    fire_at = json_extract(given.value, '$[1]'),
    due_at = json_extract(given.value, '$[2]'),
    state = CASE WHEN json_extract(given.value, '$[3]') THEN 2 ELSE state END,
    runs = runs + json_extract(given.value, '$[4]'),
    skipped = skipped + json_extract(given.value, '$[5]'),
    missed = missed + json_extract(given.value, '$[6]'),
    waiting = waiting + json_extract(given.value, '$[7]'),
    last_fire_time = coalesce(json_extract(given.value, '$[8]'), last_fire_time),
    last_task = CASE
        WHEN json_extract(given.value, '$[8]') IS NULL THEN last_task
        ELSE json_extract(given.value, '$[9]')
    END,
    last_job = CASE
        WHEN json_extract(given.value, '$[8]') IS NULL THEN last_job
        ELSE json_extract(given.value, '$[10]')
    END
FROM json_each(:batch) AS given
WHERE schedule_live.id = json_extract(given.value, '$[0]')
