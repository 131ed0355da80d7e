-- ripple: a job does not wait for another any more, because that one has ended. Both are locked.
-- GIVES a row if that is news
UPDATE drumline.job_dep SET is_done = true
WHERE job_id = :job::uuid AND needs_job = :needed::uuid AND NOT is_done
RETURNING job_id
