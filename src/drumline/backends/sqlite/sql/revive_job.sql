-- resume: a job goes on; what came back to life has not ended.
UPDATE job
SET
    failed = failed - :failed,
    cancelled = cancelled - :cancelled,
    skipped = skipped - :skipped,
    pending_jobs = :pending_jobs,
    status = CASE WHEN :pending_jobs > 0 OR started_at IS NULL THEN 1 ELSE 2 END,
    version = version + 1,
    finished_at = NULL,
    failed_by = NULL,
    reason = NULL,
    cancel_requested = 0
WHERE id = :job
