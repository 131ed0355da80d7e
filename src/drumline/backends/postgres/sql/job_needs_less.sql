-- ripple: a job waits for one job less.
UPDATE drumline.job SET pending_jobs = pending_jobs - 1 WHERE id = :job::uuid
