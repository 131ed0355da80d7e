-- get: the jobs that a job depends on.
SELECT needs_job FROM job_dep WHERE job_id = :job ORDER BY needs_job
