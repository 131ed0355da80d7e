-- every act that ends tasks: which of these belong to jobs.
--   :ids  JSON list
-- GIVES one JSON list of [task id, job id, key]
SELECT json_group_array(json_array(job_task.task_id, job_task.job_id, job_task.key))
FROM json_each(:ids) AS given
CROSS JOIN job_task
WHERE job_task.task_id = given.value
