-- get, resume: the jobs that jobs depend on. That never changes.
SELECT dep.job_id, dep.needs_job FROM drumline.job_dep AS dep
WHERE dep.job_id = any(:ids::uuid [])
ORDER BY dep.job_id, dep.needs_job
