-- resume: the jobs that a job depends on, as they stand; those that were pruned are not in its way.
SELECT job.id, job.name, job.status FROM job_dep
CROSS JOIN job ON job_dep.needs_job = job.id
WHERE job_dep.job_id = :job
ORDER BY job.id
