-- resume, retry in a job: the job goes on; what came back to life has not ended.
-- GIVES the job as it stands after it
UPDATE drumline.job
SET
    failed = job.failed - :failed::int4,
    cancelled = job.cancelled - :cancelled::int4,
    skipped = job.skipped - :skipped::int4,
    pending_jobs = :pending_jobs::int4,
    status = CASE WHEN :pending_jobs > 0 OR job.started_at IS NULL THEN 1 ELSE 2 END,
    version = job.version + 1,
    finished_at = NULL,
    failed_by = NULL,
    reason = NULL,
    cancel_requested = false
WHERE job.id = :job::uuid
RETURNING
    job.id, job.tenant, job.name, job.owner, job.status, job.options, job.total, job.completed, job.failed,
    job.cancelled, job.skipped, job.pending_jobs, job.reason, job.cancel_requested, job.created_at, job.started_at,
    job.finished_at, job.idempotency_key, job.schedule_id, job.fire_time, job.version
