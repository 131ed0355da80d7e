-- prune: jobs that ended before a time, longest ago first; not while others have to be told of it.
SELECT job.id, job.total FROM job
WHERE job.finished_at < :before AND NOT EXISTS (SELECT 1 FROM job_ripple WHERE job_ripple.job_id = job.id)
ORDER BY job.finished_at
LIMIT :limit
