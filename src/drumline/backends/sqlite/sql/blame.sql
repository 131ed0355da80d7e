-- every act that ends tasks: because of which task others were skipped.
--   :batch  JSON list of [task id, cause]
UPDATE job_task
SET cause = json_extract(given.value, '$[1]')
FROM json_each(:batch) AS given
WHERE job_task.task_id = json_extract(given.value, '$[0]')
