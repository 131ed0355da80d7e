-- submit: jobs that others are to wait for. None of them can end before those do wait.
SELECT
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
FROM drumline.job
WHERE job.id = any(:ids::uuid [])
ORDER BY job.id
FOR SHARE
