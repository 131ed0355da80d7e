-- prune: the tasks of a job.
SELECT task_id FROM job_task WHERE job_id = :job
