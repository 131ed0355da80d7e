-- cancel: ask the running tasks of a job to stop; their workers are told at their next beat.
-- GIVES those for which that is news, with their epochs
UPDATE task_live SET cancel_requested = 1
WHERE state = 2 AND NOT cancel_requested AND id IN (SELECT task_id FROM job_task WHERE job_id = :job)
RETURNING id, epoch
