-- every act that ends tasks or brings them back: what blocked tasks still wait for.
--   :batch  JSON list of [task id, pending, bad]
UPDATE job_task
SET
    pending = json_extract(given.value, '$[1]'),
    bad = json_extract(given.value, '$[2]'),
    cause = NULL
FROM json_each(:batch) AS given
WHERE job_task.task_id = json_extract(given.value, '$[0]')
