-- prune: lock jobs that ended before a time, longest ago first; not while others have to be told of it. Those that
-- somebody is acting on are passed over.
SELECT job.id, job.total FROM drumline.job
WHERE
    job.finished_at < :before::int8
    AND NOT EXISTS (SELECT FROM drumline.job_ripple AS ripple WHERE ripple.job_id = job.id OFFSET 0)
ORDER BY job.finished_at
LIMIT :limit::int4
FOR UPDATE SKIP LOCKED
