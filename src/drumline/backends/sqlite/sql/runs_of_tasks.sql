-- fire: which of some runs for one fire time came about.
--   :batch  JSON object: the task by its schedule
SELECT run.schedule_id
FROM json_each(:batch) AS given
CROSS JOIN schedule_run AS run ON given.key = run.schedule_id
WHERE run.fire_time = :fire_time AND run.task_id = given.value
