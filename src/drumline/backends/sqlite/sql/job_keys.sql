-- submit: the tasks of a job by key.
SELECT key, task_id FROM job_task WHERE job_id = :job ORDER BY task_id
