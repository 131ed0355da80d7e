-- list: the newest tasks of a job below :before.
SELECT task_id FROM drumline.job_task
WHERE job_id = :job::uuid AND task_id < :before::uuid
ORDER BY task_id DESC
LIMIT :limit::int4
