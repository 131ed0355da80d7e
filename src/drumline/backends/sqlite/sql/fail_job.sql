-- ripple: a job fails because of another. Its tasks are skipped in the same transaction.
UPDATE job SET failed_by = :needed, reason = :reason, pending_jobs = 0 WHERE id = :job
