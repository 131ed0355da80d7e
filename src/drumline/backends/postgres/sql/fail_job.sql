-- ripple: a job fails because of another. Its tasks are skipped in the same transaction.
UPDATE drumline.job SET failed_by = :needed::uuid, reason = :reason::text, pending_jobs = 0 WHERE id = :job::uuid
